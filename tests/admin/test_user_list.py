"""The list of users, with its search."""

import pytest

from tests.support import administrators
from tests.support.pages import csrf_of


@pytest.fixture
def users(site):
    """Fifty-five users, and an administrator who reads the list."""
    administrators.signed_in(site, "security")
    return [site.user(f"user{number:02}@example.com") for number in range(55)]


def found(page):
    return [link.text for link in page.html.select("table tbody th a")]


def test_pages_follow_on_each_other_and_skip_nothing(site, users):
    first = site.http.get("/admin/users", status=200)
    assert first.html.caption.text == "56 users"
    assert found(first)[0] == "user54@example.com"  # the newest
    second = site.http.get(first.html.find("a", rel="next")["href"], status=200)
    both = found(first) + found(second)
    assert len(both) == len(set(both)) == 56
    assert not second.html.find("a", rel="next")
    assert second.html.find("a", string="First page")["href"] == "/admin/users"


def test_a_name_of_a_login_finds_by_its_beginning(site, users):
    page = site.http.get("/admin/users?q=USER0", status=200)
    assert found(page) == [f"user0{number}@example.com" for number in range(10)]
    assert page.html.find(id="q")["value"] == "USER0"
    page = site.http.get(f"/admin/users?q={users[7].id}", status=200)
    assert found(page) == ["user07@example.com"]


def test_filters_stay_on_the_next_page(site, users):
    page = site.http.get("/admin/users?confirmed=false", status=200)
    assert "confirmed=false" in page.html.find("a", rel="next")["href"]
    assert found(site.http.get("/admin/users?confirmed=true")) == ["root@example.com"]
    assert found(site.http.get("/admin/users?group=authsite:security")) == ["root@example.com"]


def test_a_search_without_a_result_says_so(site, users):
    page = site.http.get("/admin/users?q=<b>zoe", status=200)
    assert "No user matches “<b>zoe”." in page.html.text
    assert page.html.find("a", string="Clear the search")


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("cursor=x", 400, "Begin with the first page again."),
        ("created_after=yesterday", 422, "Write the day as year-month-day"),
    ],
)
def test_what_is_wrong_is_said_on_the_page(site, users, query, status, message):
    page = site.http.get(f"/admin/users?{query}", status=status)
    assert message in page.html.find(role="alert").text


def test_the_start_page_leads_to_the_search(site, users):
    form = site.http.get("/admin").forms[1]
    form["q"] = "user33"
    assert found(form.submit(status=200)) == ["user33@example.com"]


def test_a_name_cannot_run_in_the_page(site, users):
    path = f"/admin/users/{users[0].id}/profile"
    token = csrf_of(site.http.get(path))
    site.http.post(path, {"csrf_token": token, "name": "<img src=x>"}, status=303)
    page = site.http.get("/admin/users?q=user00")
    assert not page.html.select("table img")
    assert "<img src=x>" in page.html.text
