"""Errors of forms: the same words above the form and at the field, and a way out."""

import pytest

from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD

WEAK = "password1234"


def summary(page):
    """The lines above the form: text -> the field that the line is a link to."""
    box = page.html.find(class_="summary")
    lines = box.find_all("li") or box.find_all("p")
    return {line.get_text(" ", strip=True): line.a and line.a["href"] for line in lines}


def at_field(page, field):
    return page.html.find(id=f"{field}-error").get_text(" ", strip=True).removeprefix("Error: ")


def test_the_summary_has_the_words_of_the_fields_and_leads_to_them(site):
    page = submit(site, "/register", email="", password="")
    assert page.status_int == 422
    assert summary(page) == {
        "Enter your e-mail address.": "#email",
        "Choose a password.": "#password",
    }
    assert at_field(page, "email") == "Enter your e-mail address."
    assert at_field(page, "password") == "Choose a password."


def test_one_error_is_one_line_that_leads_to_its_field(site):
    page = submit(site, "/password/forgot", email="ann")
    assert summary(page) == {at_field(page, "email"): "#email"}


@pytest.mark.parametrize(
    ("kinds", "missing", "wrong"),
    [
        ("email", "Enter your e-mail address.", "The e-mail address or password is incorrect."),
        ("username", "Enter your username.", "The username or password is incorrect."),
        (
            "email username phone",
            "Enter your e-mail address, username or phone number.",
            "The e-mail address, username, phone number or password is incorrect.",
        ),
    ],
)
def test_the_login_page_uses_the_words_of_its_label(site_with, kinds, missing, wrong):
    site = site_with(login_identifiers=kinds)
    page = submit(site, "/login", username="", password="")
    assert summary(page) == {missing: "#username", "Enter your password.": "#password"}
    page = submit(site, "/login", username="ann", password="wrong wrong wrong")
    [line] = summary(page)
    assert line.startswith(wrong)


def test_a_taken_address_leads_to_signing_in_and_to_a_new_password(site):
    site.user()
    page = submit(site, "/register", email="ann@example.com", password="purple wolf 77 tea")
    assert list(summary(page).values()) == ["#email"]
    links = [link["href"] for link in page.html.find(id="email-error").find_all("a")]
    assert links == ["/login", "/password/forgot"]
    assert " ".join(at_field(page, "email").split()).replace(" .", ".") in summary(page)


def test_a_taken_username_asks_for_another(site_with):
    site = site_with(login_identifiers="email username")
    site.user(username="ann")
    page = submit(
        site, "/register", email="b@example.com", username="ann", password="purple wolf 77 tea"
    )
    assert summary(page) == {"This username is taken. Choose another.": "#username"}


def test_a_locked_account_leads_to_a_new_password(site_with):
    site = site_with(limits="on", limits_login_account="2/5 minutes")
    for name in ("ann@example.com", "nobody@example.com"):
        for _ in range(3):
            page = submit(site, "/login", username=name, password="wrong wrong wrong")
        assert page.status_int == 429
        [(line, link)] = summary(page).items()
        assert line.startswith("Too many attempts. Try again in 5 minutes.")
        assert line.endswith("You can also reset your password .")
        assert link == "/password/forgot"


def test_the_login_page_says_what_it_is_for(site):
    page = site.http.get("/account", status=302).follow()
    assert "Sign in to continue to your account." in page.text
    assert "to continue" not in site.http.get("/login").text


@pytest.fixture
def ann(site):
    site.user()
    sign_in(site)
    return site


def test_a_wrong_password_does_not_hide_a_bad_new_address(ann):
    page = submit(
        ann, "/account/email", page="/account", email="ann at", current_password="wrong 1"
    )
    assert list(summary(page).values()) == ["#email-email", "#email-current_password"]
    assert ann.events()[-1] == "reauthentication.failed"


def test_a_wrong_password_does_not_hide_a_weak_new_one(ann):
    fields = {"current_password": "wrong wrong", "password": WEAK}
    page = submit(ann, "/account/password", page="/account", **fields)
    assert list(summary(page).values()) == ["#password-current_password", "#password-password"]
    assert ann.events()[-1] == "reauthentication.failed"
    fields["current_password"] = PASSWORD
    page = submit(ann, "/account/password", page="/account", **fields)
    assert list(summary(page).values()) == ["#password-password"]


def test_a_missing_address_does_not_hide_a_weak_password(site):
    page = submit(site, "/register", email="", password=WEAK)
    assert list(summary(page).values()) == ["#email", "#password"]
