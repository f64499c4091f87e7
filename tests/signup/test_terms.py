"""terms-url: who registers accepts the terms, and their URL and the time are recorded."""

import pytest
from sqlalchemy import select

from authsite.users.models import User
from tests.support.pages import submit

GOOD = {"email": "bo@example.com", "password": "purple wolf 77 tea"}
TERMS = "https://example.org/terms/2026-11"


@pytest.fixture(params=["off", "on"])
def site(request, site_with):
    return site_with(terms_url=TERMS, prevent_enumeration=request.param)


def users(site):
    with site.db() as db:
        return db.scalars(select(User)).all()


@pytest.mark.parametrize("accepted", [True, "true", "1", "on"])
def test_the_api_records_which_terms_were_accepted_and_when(site, frozen, accepted):
    site.http.post_json("/v1/register", {**GOOD, "terms_accepted": accepted})
    [user] = users(site)
    assert (user.terms_url, user.terms_accepted_at) == (TERMS, user.created_at)


@pytest.mark.parametrize("accepted", [None, False, "false", "0", "no", "", "perhaps", ["true"], 1])
def test_without_consent_nobody_is_registered(site, accepted):
    answer = site.http.post_json("/v1/register", {**GOOD, "terms_accepted": accepted}, status=422)
    assert [item["field"] for item in answer.json["errors"]] == ["terms_accepted"]
    assert users(site) == []


def test_the_error_stands_beside_those_of_other_fields(site):
    answer = site.http.post_json("/v1/register", {**GOOD, "password": "password"}, status=422)
    assert [(item["field"], item["code"]) for item in answer.json["errors"]] == [
        ("password", "weak_password"),
        ("terms_accepted", "required"),
    ]


def test_a_form_sends_it_as_text(site):
    site.http.post("/v1/register", {**GOOD, "terms_accepted": "true"})
    assert len(users(site)) == 1


def test_the_page_has_a_required_box_with_a_link(site):
    page = site.http.get("/register").html
    box = page.select_one("input[name=terms_accepted]")
    assert box.has_attr("required")
    assert not box.has_attr("checked")
    link = box.find_parent("label").find("a")
    assert (link["href"], link["target"], link["rel"]) == (TERMS, "_blank", ["noopener"])


def test_the_page_records_it_too(site):
    submit(site, "/register", **GOOD, terms_accepted="1")
    [user] = users(site)
    assert user.terms_url == TERMS


def test_without_the_box_the_form_comes_back_with_the_error_at_it(site):
    page = submit(site, "/register", **GOOD)
    assert page.status_int == 422
    box = page.html.select_one("input[name=terms_accepted]")
    assert box["aria-invalid"] == "true"
    assert "Accept the terms" in page.html.find(id=box["aria-describedby"]).text
    assert page.html.select_one(".summary a")["href"] == f"#{box['id']}"
    assert users(site) == []


def test_a_new_user_of_the_command_line_has_accepted_nothing(site):
    site.user()
    [user] = users(site)
    assert (user.terms_url, user.terms_accepted_at) == (None, None)


def test_without_the_setting_nothing_is_asked_or_recorded(site_with):
    site = site_with()
    assert site.http.get("/register").html.select_one("input[name=terms_accepted]") is None
    site.http.post_json("/v1/register", {**GOOD, "terms_accepted": True}, status=201)
    [user] = users(site)
    assert (user.terms_url, user.terms_accepted_at) == (None, None)


def test_the_box_is_german_for_germans(site):
    page = site.http.get("/register", headers={"Accept-Language": "de"}).html
    label = page.select_one("input[name=terms_accepted]").find_parent("label")
    assert " ".join(label.text.split()) == "Ich akzeptiere die Nutzungsbedingungen."


def test_the_terms_are_those_of_the_language(site_with):
    german = "https://example.org/agb"
    site = site_with(terms_url=TERMS, **{"terms_url.de": german})
    headers = {"Accept-Language": "de"}
    page = site.http.get("/register", headers=headers)
    box = page.html.select_one("input[name=terms_accepted]")
    assert box.find_parent("label").find("a")["href"] == german
    submit(site, "/register", headers=headers, **GOOD, terms_accepted="1")
    site.http.post("/v1/register", {**GOOD, "email": "x@example.com", "terms_accepted": "true"})
    assert {user.email: user.terms_url for user in users(site)} == {
        "bo@example.com": german,
        "x@example.com": TERMS,
    }
