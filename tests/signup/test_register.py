"""Registration: who gets an account, and what is refused with which words."""

import pytest

from authsite.platform.http.errors import TemporarilyUnavailable
from authsite.users.models import LoginName, User
from tests.support.site import PASSWORD

pytestmark = pytest.mark.both_databases

GOOD = {"email": "bo@example.com", "password": "purple wolf 77 tea"}
USER_FIELDS = {
    "id",
    "email",
    "username",
    "phone",
    "name",
    "confirmed",
    "email_verified_at",
    "created_at",
    "updated_at",
}


def register(site, status=201, **fields):
    """POST /v1/register with good fields, changed by ``fields``."""
    return site.http.post_json("/v1/register", GOOD | fields, status=status)


def errors_of(answer):
    """(field, code) of each mistake, in a body of the house's shape."""
    assert set(answer.json) == {"message", "errors"}
    for item in answer.json["errors"]:
        assert set(item) == {"code", "field", "message"}
    return [(item["field"], item["code"]) for item in answer.json["errors"]]


def count(site, model=User):
    with site.db() as db:
        return db.query(model).count()


def test_a_new_user_is_answered_with_user_data_and_no_tokens(site):
    answer = register(site, name="Bo Berg")
    assert set(answer.json) == USER_FIELDS
    shown = answer.json
    assert (shown["email"], shown["name"]) == ("bo@example.com", "Bo Berg")
    assert (shown["confirmed"], shown["email_verified_at"]) == (False, None)
    assert (shown["username"], shown["phone"]) == (None, None)
    assert shown["created_at"].endswith("Z")
    assert len(shown["created_at"]) == len("2031-05-17T09:30:00Z")
    assert "Set-Cookie" not in answer.headers
    assert site.families() == []


def test_a_form_is_taken_as_well_as_json(site):
    assert site.http.post("/v1/register", GOOD, status=201).json["email"] == "bo@example.com"


def test_a_registered_user_can_log_in(site):
    register(site)
    site.login(site.client(), "bo@example.com", GOOD["password"])


def test_an_empty_or_absent_name_is_none(site):
    assert register(site, name="").json["name"] is None
    assert register(site, email="cy@example.com", name=None).json["name"] is None


@pytest.mark.both_databases
@pytest.mark.parametrize("email", ["bo@example.com", "BO@Example.COM", " bo@example.com "])
def test_a_taken_address_is_taken_in_every_spelling(site, email):
    register(site)
    answer = register(site, status=422, email=email)
    assert errors_of(answer) == [("email", "taken")]
    assert count(site) == count(site, LoginName) == 1


def test_the_taken_answer_is_the_same_when_the_database_decides(site):
    # Nothing is looked up before the insert: the constraint decides, also between two at once.
    first = register(site).json["id"]
    assert errors_of(register(site, status=422)) == [("email", "taken")]
    with site.db() as db:
        assert str(db.query(User).one().id) == first


@pytest.mark.control("U01")
@pytest.mark.parametrize(
    "email",
    [
        "a＠b.example",
        "a@b.example,d@e.example",
        "a@b.example;d@e.example",
        "a@b.example d@e.example",
        '"a b"@c.example',
        "<a@b.example>",
        "Bo <a@b.example>",
        "a@b.example\n",
        "a@b.example\r\nBcc: c@d.example",
        "a@-b.example",
        "a@b..example",
        "a@",
        "@b.example",
        "a",
        "a@[192.0.2.1]",
        "m\N{LATIN SMALL LETTER DOTLESS I}ke@example.com",
        "mi\N{KELVIN SIGN}e@example.com",
        "a\N{ZERO WIDTH SPACE}@example.com",
    ],
)
def test_what_is_not_one_plain_address_is_refused(site, email):
    assert errors_of(register(site, status=422, email=email)) == [("email", "invalid")]
    assert count(site) == 0


@pytest.mark.both_databases
@pytest.mark.control("U01")
@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("Bo@EXAMPLE.com", "Bo@example.com"),
        ("bo@bücher.example", "bo@xn--bcher-kva.example"),
        ("bo@bu\N{COMBINING DIAERESIS}cher.example", "bo@xn--bcher-kva.example"),
        (" bo@example.com ", "bo@example.com"),
    ],
)
def test_an_address_is_stored_in_one_spelling(site, typed, stored):
    assert register(site, email=typed).json["email"] == stored
    assert errors_of(register(site, status=422, email=stored)) == [("email", "taken")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"email": None}, [("email", "required")]),
        ({"email": ""}, [("email", "required")]),
        ({"password": None}, [("password", "required")]),
        ({"password": ""}, [("password", "required")]),
        ({"email": None, "password": None}, [("email", "required"), ("password", "required")]),
        ({"email": "x" * 243 + "@example.com"}, [("email", "too_long")]),
        ({"email": "x" * 65 + "@example.com"}, [("email", "invalid")]),
        ({"password": "long enough " * 400}, [("password", "too_long")]),
        ({"name": "x" * 1025}, [("name", "too_long")]),
        ({"name": "Bo\nBerg"}, [("name", "invalid")]),
        ({"name": "Bo\x1b[31m"}, [("name", "invalid")]),
        (
            {"email": "a@", "password": "short", "name": "\x07"},
            [("email", "invalid"), ("name", "invalid"), ("password", "weak_password")],
        ),
    ],
)
def test_each_error_has_its_own_entry(site, fields, expected):
    assert errors_of(register(site, status=422, **fields)) == expected
    assert count(site) == 0


@pytest.mark.control("U08")
def test_only_the_documented_fields_are_taken(site):
    answer = register(
        site,
        id="00000000-0000-0000-0000-000000000001",
        confirmed=True,
        email_verified_at="2020-01-01T00:00:00Z",
        confirmed_at="2020-01-01T00:00:00Z",
        is_admin=True,
        type="admin",
        scope="admin",
        epoch=7,
        password_hash="x",
        disabled_at=None,
        created_at="1999-01-01T00:00:00Z",
        name="Bo",
    )
    assert set(answer.json) == USER_FIELDS
    assert answer.json["id"] != "00000000-0000-0000-0000-000000000001"
    assert (answer.json["confirmed"], answer.json["email_verified_at"]) == (False, None)
    assert not answer.json["created_at"].startswith("1999")
    with site.db() as db:
        user = db.query(User).one()
    assert (user.epoch, user.email_verified_at, user.disabled_at) == (0, None, None)
    assert user.password_hash.startswith("v1$")
    keys = site.client(scope="")
    tokens = site.login(keys, "bo@example.com", GOOD["password"])
    assert site.families()[0].scope == ""
    assert site.me(tokens["access_token"]).json["confirmed"] is False


def test_a_kind_of_identifier_that_is_not_enabled_is_ignored(site):
    answer = register(site, username="bo_berg", phone="+49 30 901820")
    assert (answer.json["username"], answer.json["phone"]) == (None, None)
    assert count(site, LoginName) == 1


@pytest.mark.both_databases
@pytest.mark.control("U12")
@pytest.mark.parametrize(
    "text", ["'; DROP TABLE users; --", "\" OR ''='", "%", "_", "\\", "$$", "{0}", "%s", ":email"]
)
def test_text_that_looks_like_sql_is_stored_as_text(site, text):
    answer = register(site, name=text, password=f"{text} purple wolf 77 tea")
    assert answer.json["name"] == text
    keys = site.client()
    site.login(keys, "bo@example.com", f"{text} purple wolf 77 tea")
    site.login(keys, text, GOOD["password"], status=400)
    assert count(site) == 1


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("https://app.example.org/verify", 201),
        ("https://app.example.org/verify/", 422),
        ("https://APP.example.org/verify", 422),
        ("https://app.example.org/verify?x=1", 422),
        ("https://evil.example/verify", 422),
        ("javascript:alert(1)", 422),
    ],
)
def test_the_verification_page_must_equal_a_listed_one(site_with, url, status):
    site = site_with(allowed_verify_email_urls="https://app.example.org/verify")
    answer = register(site, status=status, verification_url=url)
    if status == 422:
        assert errors_of(answer) == [("verification_url", "not_allowed")]
        assert count(site) == 0


def test_without_a_list_our_own_page_is_the_verification_page(site):
    register(site, verification_url="http://localhost/email/verify")
    answer = register(site, status=422, verification_url="http://localhost/elsewhere")
    assert errors_of(answer) == [("verification_url", "not_allowed")]


@pytest.mark.control("U06")
def test_with_prevent_enumeration_a_taken_address_is_answered_like_a_free_one(site_with):
    site = site_with(prevent_enumeration="true")
    first, second = register(site, status=202), register(site, status=202)
    assert first.body == second.body
    assert set(first.json) == {"message"}
    assert sorted(first.headers) == sorted(second.headers)
    assert count(site) == 1
    assert errors_of(register(site, status=422, password="short")) == [
        ("password", "weak_password")
    ]


def test_one_registration_is_one_audit_row_and_a_refused_one_is_none(site):
    register(site)
    register(site, status=422)
    register(site, status=422, email="a@")
    assert site.events() == ["user.created"]


@pytest.mark.control("P09")
def test_without_hash_capacity_no_user_is_registered_and_the_answer_is_503(site, monkeypatch):
    pool = site.app.registry["authsite"].passwords.pool
    monkeypatch.setattr(pool, "capacity", 0)
    answer = register(site, status=503)
    assert errors_of(answer) == [(None, TemporarilyUnavailable.code)]
    assert int(answer.headers["Retry-After"]) >= 1
    assert count(site) == 0


def test_the_password_of_a_user_is_only_in_the_database_as_a_hash(site):
    register(site)
    with site.db() as db:
        stored = db.query(User).one().password_hash
    assert stored.startswith("v1$-$2b$10$")
    assert PASSWORD not in stored
