"""Which client may use which grant, and what a token answer looks like."""

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError

from authsite.oauth.models import Family
from authsite.platform.audit.models import AuditEvent
from tests.support.site import PASSWORD, bearer

LOGIN = {"grant_type": "password", "username": "ann@example.com", "password": PASSWORD}
MACHINE = {"grant_type": "client_credentials"}
PAIR = {"token_type", "expires_in", "access_token", "refresh_token"}


@pytest.mark.control("T06")
@pytest.mark.parametrize(
    ("type_", "form", "allowed"),
    [
        ("password", LOGIN, True),
        ("password", MACHINE, False),
        ("personal", LOGIN, False),
        ("personal", MACHINE, True),
        ("resource-server", LOGIN, False),
        ("resource-server", MACHINE, False),
    ],
)
def test_each_client_type_has_its_own_grant(site, type_, form, allowed):
    site.user()
    answer = site.token(site.client(type_), 200 if allowed else 400, **form).json
    if allowed:
        assert set(answer) == PAIR
    else:
        assert answer["error"] == "unauthorized_client"
    assert len(site.families()) == allowed


@pytest.mark.control("T06")
@pytest.mark.parametrize(
    ("type_", "error"),
    [
        ("password", "invalid_grant"),
        ("personal", "invalid_grant"),
        ("resource-server", "unauthorized_client"),
    ],
)
def test_who_has_a_grant_may_refresh_and_a_resource_server_may_not(site, type_, error):
    answer = site.refresh(site.client(type_), "rt_not-a-token", status=400)
    assert answer["error"] == error


@pytest.mark.control("T06")
@pytest.mark.parametrize("type_", ["password", "personal"])
def test_the_tokens_of_both_client_types_can_be_refreshed(site, type_):
    site.user()
    keys = site.client(type_)
    first = site.token(keys, **(LOGIN if type_ == "password" else MACHINE)).json
    assert set(site.refresh(keys, first["refresh_token"])) == PAIR


@pytest.mark.control("T06")
@pytest.mark.parametrize(
    "grant_type",
    ["implicit", "Password", "PASSWORD", "password ", " password", "x" * 1024,
     "urn:ietf:params:oauth:grant-type:jwt-bearer", "__init__", "none", "ä"],
)  # fmt: skip
def test_an_unknown_grant_type_is_unsupported(site, grant_type):
    answer = site.token(site.client(), 400, **(LOGIN | {"grant_type": grant_type}))
    assert answer.json["error"] == "unsupported_grant_type"


@pytest.mark.parametrize(
    ("form", "missing"),
    [
        ({"grant_type": "password"}, "username and password"),
        ({"grant_type": "password", "username": "ann@example.com"}, "username and password"),
        ({"grant_type": "password", "password": PASSWORD}, "username and password"),
        ({"grant_type": "password", "username": "", "password": PASSWORD}, "username and password"),
        (LOGIN | {"password": ""}, "username and password"),
        ({"grant_type": "refresh_token"}, "refresh_token"),
        ({"grant_type": "refresh_token", "refresh_token": ""}, "refresh_token"),
    ],
)
def test_a_parameter_that_the_grant_needs_is_named_when_it_is_missing(site, form, missing):
    answer = site.token(site.client(), 400, **form).json
    assert answer["error"] == "invalid_request"
    assert missing in answer["message"]


def test_a_login_answer_has_exactly_the_four_members(site):
    site.user()
    answer = site.login(site.client())
    assert set(answer) == PAIR
    assert answer["token_type"] == "Bearer"
    assert answer["access_token"].startswith("at_")
    assert answer["refresh_token"].startswith("rt_")


def test_a_token_response_is_json_with_no_store_and_without_a_cookie(site):
    site.user()
    response = site.token(site.client(), **LOGIN)
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Pragma"] == "no-cache"
    assert "Set-Cookie" not in response.headers


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("ann@example.com", "wrong horse battery"),
        ("nobody@example.com", PASSWORD),
        ("ann@example.com", PASSWORD + " "),
        ("ann@example.com", PASSWORD.upper()),
        ("not an address", PASSWORD),
        ("ann@example.com", "x" * 4096),
        ("' OR 1=1 --", "' OR 1=1 --"),
    ],
)
def test_a_wrong_login_is_one_and_the_same_invalid_grant(site, username, password):
    site.user()
    keys = site.client()
    wrong = site.login(keys, username, password, status=400)
    assert wrong == site.login(keys, "x@example.com", "wrong horse battery", status=400)
    assert wrong["error"] == "invalid_grant"
    assert site.families() == []


def test_a_failed_login_stays_on_record_without_what_was_typed(site):
    user = site.user()
    keys = site.client()
    site.login(keys, password="my other password", status=400)
    site.login(keys, "stranger@example.com", status=400)
    with site.db() as db:
        failed = select(AuditEvent).where(AuditEvent.event == "login.failed")
        known, unknown = db.scalars(failed.order_by(AuditEvent.id))
    assert (known.user_id, known.details) == (user.id, {"reason": "wrong_password"})
    assert unknown.user_id is None
    assert "stranger" not in str(unknown.details)


def test_an_issued_token_is_on_record_with_its_user_and_client(site):
    user, keys = site.user(), site.client()
    site.http.post(
        "/v1/oauth/token", keys.form(**LOGIN), headers={"User-Agent": "walk/1.0"}, status=200
    )
    [family] = site.families()
    assert (family.user_id, str(family.client_id)) == (user.id, keys.client_id)
    assert (family.address, family.agent, family.owner_kind) == ("192.0.2.1", "walk/1.0", "user")
    assert site.events()[-1] == "token.issued"


@pytest.mark.control("T16")
@pytest.mark.parametrize("path", ["/v1/user", "/v1/profile"])
def test_a_client_token_never_becomes_a_user_even_when_the_ids_are_equal(site, path):
    user = site.user()
    keys = site.client_with_id(user.id, "personal")
    tokens = site.token(keys, **MACHINE).json
    tokens = [tokens, site.refresh(keys, tokens["refresh_token"])]
    for pair in tokens:
        answer = site.http.get(path, headers=bearer(pair["access_token"]), status=403)
        assert answer.json["errors"][0]["code"] == "user_required"
    [family] = site.families()
    assert (family.owner_kind, family.user_id) == ("client", None)


@pytest.mark.control("T16")
def test_a_refresh_of_a_client_token_gives_client_tokens_whoever_is_named(site):
    site.user()
    keys = site.client("personal")
    first = site.token(keys, **MACHINE).json
    fresh = site.refresh(
        keys, first["refresh_token"], username="ann@example.com", password=PASSWORD
    )
    site.me(fresh["access_token"], status=403)


@pytest.mark.both_databases
@pytest.mark.control("T16")
@pytest.mark.parametrize("owner_kind", ["user", "client"])
def test_the_database_itself_keeps_owner_kind_and_user_together(site, owner_kind):
    site.user()
    if owner_kind == "user":
        site.token(site.client("personal"), **MACHINE)
    else:
        site.login(site.client())
    with pytest.raises(IntegrityError), site.db() as db:
        db.execute(update(Family).values(owner_kind=owner_kind))
