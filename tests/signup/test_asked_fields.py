"""What the registration page asks: setting registration-fields."""

import pytest
from sqlalchemy import select

from authsite.users.models import User
from tests.support.invitations import Inviting
from tests.support.pages import submit

BASE = "https://auth.example.com"
GOOD = {"email": "bo@example.com", "password": "purple wolf 77 tea"}
ALL = {"login_identifiers": "email username phone"}


def asked(page):
    names = [field["name"] for field in page.html.select("main form input[name]")]
    return [name for name in names if name not in ("csrf_token", "next")]


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({}, ["email", "password"]),
        (ALL, ["email", "password"]),
        ({"terms_url": "/terms"}, ["email", "password", "terms_accepted"]),
        ({"registration_fields": "name"}, ["email", "name", "password"]),
        ({"registration_fields": "none"}, ["email", "password"]),
        (
            {**ALL, "registration_fields": "phone name username"},
            ["email", "name", "username", "phone", "password"],
        ),
        ({"login_identifiers": "username"}, ["email", "username", "password"]),
    ],
)
def test_the_page_asks_what_is_required_and_what_the_setting_names(site_with, settings, fields):
    assert asked(site_with(**settings).http.get("/register")) == fields


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({}, ["email", "name", "password"]),
        ({"registration_fields": "none"}, ["email", "password"]),
        ({"openid": "off"}, ["email", "password"]),
    ],
)
def test_where_applications_sign_people_in_the_name_is_asked(site_with, settings, fields):
    site = site_with(base_url=BASE, **settings)
    assert asked(site.http.get(f"{BASE}/register")) == fields
    answer = submit(site, "/register", **GOOD)  # and may be left out
    assert answer.status_int == 303
    with site.db() as db:
        assert db.scalars(select(User)).one().name is None


def test_an_invitation_asks_it_too(site_with):
    site = site_with(base_url=BASE, registration="invite")
    assert "name" in asked(site.http.get(Inviting(site).link(GOOD["email"])))


def test_a_form_with_more_fields_is_accepted(site_with):
    site = site_with(**ALL, phone_region="DE")
    more = {"name": "Bo", "username": "bo-lee", "phone": "030 901820"}
    assert submit(site, "/register", **GOOD, **more).status_int == 303
    with site.db() as db:
        [user] = db.scalars(select(User))
    assert (user.name, user.username, user.phone) == ("Bo", "bo-lee", "+4930901820")


def test_what_was_sent_is_shown_again_with_its_mistake(site_with):
    site = site_with(**ALL)
    page = submit(site, "/register", **GOOD, username="a", name="Bo")
    assert page.status_int == 422
    assert asked(page) == ["email", "name", "username", "password"]
    assert page.html.find(id="name")["value"] == "Bo"
    assert page.html.find(id="username")["aria-invalid"] == "true"
    assert page.html.select_one(".summary a")["href"] == "#username"


@pytest.mark.parametrize(
    ("settings", "language", "hint"),
    [
        ({}, "en", "With its country code, such as +49 30 901820."),
        ({"phone_region": "DE"}, "en", "For numbers outside Germany with country code."),
        (
            {"phone_region": "CH"},
            "de",
            "Mit Ländervorwahl, wenn die Nummer aus einem anderen Land ist als: Schweiz.",
        ),
        (
            {"phone_region": "US"},
            "fr",
            "Avec l’indicatif du pays, sauf pour\N{NARROW NO-BREAK SPACE}: États-Unis.",
        ),
    ],
)
def test_the_hint_of_a_phone_number_knows_the_region(site_with, settings, language, hint):
    site = site_with(**ALL, registration_fields="phone", **settings)
    page = site.http.get("/register", headers={"Accept-Language": language})
    assert page.html.find(id="phone-hint").text == hint
