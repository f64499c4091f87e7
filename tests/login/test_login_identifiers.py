"""Logging in by e-mail address, username and phone number, and whose each one is."""

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from authsite.users import service as users
from authsite.users.models import LoginName, User
from tests.support.site import PASSWORD, WEB

pytestmark = pytest.mark.both_databases

ALL = {"login_identifiers": "email username phone", "phone_region": "DE"}
STRONG = "purple wolf 77 tea"


def register(site, status=201, **fields):
    fields = {"email": "bo@example.com", "password": STRONG} | fields
    return site.http.post_json("/v1/register", fields, status=status)


def errors_of(answer):
    return [(item["field"], item["code"]) for item in answer.json["errors"]]


@pytest.fixture
def site(site_with):
    """A site with all identifiers and Ann, who has one of each."""
    made = site_with(**ALL, **WEB)
    made.first_party("web")
    made.user(username="ann_lee", phone="+49 30 901820")
    return made


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "typed",
    [
        "ann@example.com",
        "Ann@EXAMPLE.com",
        " ann@example.com ",
        "ann_lee",
        "ANN_LEE",
        "\N{FULLWIDTH LATIN SMALL LETTER A}nn_lee",
        "+4930901820",
    ],
)
def test_each_identifier_logs_in(site, typed):
    tokens = site.login(site.client(), typed)
    shown = site.me(tokens["access_token"]).json
    assert (shown["username"], shown["phone"]) == ("ann_lee", "+4930901820")


@pytest.mark.control("U04")
@pytest.mark.parametrize(
    "typed",
    [
        "+49 30 901820",
        "0049 30 901820",
        "030 901820",
        "(030) 90-18-20",
        "+49.30.901820",
        "٠٣٠٩٠١٨٢٠",
        "+４９３０９０１８２０",
    ],
)
def test_a_phone_number_is_one_user_in_all_spellings(site, typed):
    site.login(site.client(), typed)
    assert errors_of(register(site, status=422, phone=typed)) == [("phone", "taken")]


def test_the_proxy_takes_each_identifier_by_its_own_name(site):
    for field, name in {
        "email": "ann@example.com",
        "username": "ann_lee",
        "phone": "030 901820",
    }.items():
        form = {field: name, "password": PASSWORD}
        site.http.post("/v1/clients/web/login", form)


def test_the_general_field_takes_any_and_the_named_ones_only_their_own(site):
    for name in ("ann@example.com", "ann_lee", "030 901820"):
        site.http.post("/v1/clients/web/login", {"username": name, "password": PASSWORD})
    for field, name in {"email": "ann_lee", "phone": "ann@example.com"}.items():
        form = {field: name, "password": PASSWORD}
        answer = site.http.post("/v1/clients/web/login", form, status=400)
        assert answer.json["error"] == "invalid_grant"


def test_a_disabled_kind_of_identifier_does_not_log_in(site_with, site):
    assert site.login(site.client(), "ann_lee")
    url = site.url
    mail_only = site_with()  # empties the database that both share
    assert mail_only.url == url
    mail_only.user()
    with mail_only.db() as db:
        user = db.query(User).one()
        db.add(LoginName(key="ann_lee", kind="username", user_id=user.id))
    mail_only.login(mail_only.client(), "ann_lee", status=400)
    mail_only.login(mail_only.client(), "ann@example.com")


def test_without_the_e_mail_address_among_the_identifiers_it_does_not_log_in(site_with):
    site = site_with(login_identifiers="username")
    site.user(username="ann_lee")
    site.login(site.client(), "ann_lee")
    site.login(site.client(), "ann@example.com", status=400)
    # But it is still unique: links go there.
    assert errors_of(register(site, 422, email="ann@example.com", username="bo")) != []


@pytest.mark.control("U03")
@pytest.mark.parametrize(
    ("username", "code"),
    [
        ("аdmin", "invalid"),  # a Cyrillic а
        ("ann\u200blee", "invalid"),
        ("ann\u202elee", "invalid"),
        ("ann lee", "invalid"),
        ("ann@lee", "invalid"),
        ("bo@example.com", "invalid"),
        ("4930901820", "invalid"),
        ("+4930901820", "invalid"),
        ("030-901820", "invalid"),
        ("an", "invalid"),
        ("x" * 65, "invalid"),
        ("x" * 321, "too_long"),
        ("admin", "not_allowed"),
        ("Admin", "not_allowed"),
        ("ad.min", "not_allowed"),
        ("root", "not_allowed"),
        ("postmaster", "not_allowed"),
        ("ann\nlee", "invalid"),
        ("<ann>", "invalid"),
    ],
)
def test_a_username_that_could_be_taken_for_another_is_refused(site, username, code):
    assert errors_of(register(site, 422, username=username)) == [("username", code)]


@pytest.mark.parametrize(
    "phone", ["123", "0800FLOWERS", "+1", "x", "ann@example.com", "+49 30 9\n"]
)
def test_what_is_no_phone_number_is_refused(site, phone):
    assert errors_of(register(site, 422, phone=phone)) == [("phone", "invalid")]


@pytest.mark.both_databases
@pytest.mark.control("U05")
@pytest.mark.parametrize(
    ("fields", "taken"),
    [
        ({"email": "ANN@example.com"}, ["email"]),
        ({"username": "ANN_Lee"}, ["username"]),
        ({"phone": "030/90.18.20".replace("/", " ")}, ["phone"]),
        (
            {"email": "ann@example.com", "username": "ann_lee", "phone": "+4930901820"},
            ["email", "phone", "username"],
        ),
    ],
)
def test_each_identifier_is_one_persons(site, fields, taken):
    answer = register(site, 422, **fields)
    assert errors_of(answer) == [(field, "taken") for field in taken]
    with site.db() as db:
        assert db.query(User).count() == 1
        assert db.query(LoginName).count() == 3


@pytest.mark.both_databases
@pytest.mark.control("U05")
@pytest.mark.parametrize("kind", ["email", "username", "phone"])
@pytest.mark.parametrize("key", ["ann@example.com", "ann_lee", "+4930901820"])
def test_the_database_itself_keeps_one_text_for_one_user_over_all_kinds(site, kind, key):
    other = site.user("bo@example.com")
    row = {"key": key, "kind": kind, "user_id": other.id}
    with pytest.raises(IntegrityError), site.db() as db:
        db.execute(insert(LoginName), [row])


@pytest.mark.control("U05")
def test_a_text_that_is_taken_under_another_kind_is_taken(site_with):
    site = site_with(**ALL)
    ann = site.user()
    with site.db() as db:  # as an import from elsewhere might have left it
        db.add(LoginName(key="bo_berg", kind="phone", user_id=ann.id))
    answer = register(site, 422, email="bo@example.com", username="bo_berg")
    assert errors_of(answer) == [("username", "taken")]


@pytest.mark.both_databases
@pytest.mark.control("U02")
@pytest.mark.parametrize(
    "typed",
    [
        "m\N{LATIN SMALL LETTER DOTLESS I}ke@example.com",
        "mi\N{KELVIN SIGN}e@example.com",
        "mike@example.com\N{ZERO WIDTH SPACE}",
        "mike@example.com\0",
        "mike@ex\N{LATIN SMALL LETTER DOTLESS I}mple.com",
        "mike@exampIe.com",
    ],
)
def test_a_look_alike_of_an_address_is_not_that_user(site, typed):
    site.user("mike@example.com")
    site.login(site.client(), "Mike@example.com")
    form = {"grant_type": "password", "username": typed, "password": PASSWORD}
    answer = site.token(site.client(), 400, **form)
    assert answer.json["error"] in ("invalid_grant", "invalid_request")


def test_forms_have_no_fields_for_disabled_usernames_and_phones(site):
    shown = register(site).json
    assert (shown["username"], shown["phone"]) == (None, None)
    register(site, email="cy@example.com", username=None, phone=None)


def test_l13_a_user_is_found_by_an_id_in_its_usual_form_only(site):
    id = site.user("l13@example.com").id
    with site.db() as db:
        assert users.find(db, str(id)).id == users.find(db, str(id).upper()).id == id
        for other in (id.hex, f"{{{id}}}", id.urn):
            assert users.find(db, other) is None
