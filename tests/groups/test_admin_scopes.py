"""Scopes of administrators in tokens of users: by which clients and groups, at which level."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from authsite.groups import administrators
from authsite.oauth.models import Client, Family
from authsite.platform.audit.service import Cause
from authsite.sign_in.credentials import pack
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support import factors
from tests.support.acting import acting
from tests.support.codes import code_of, redeem
from tests.support.in_process import Commands
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, bearer

CONSOLE = uuid4()
READ, WRITE = "admin:users:read", "admin:users:write"
BOTH = f"{READ} {WRITE}"
STRONG = ("pwd", "otp")
SETTINGS = {"admin_clients": str(CONSOLE), "admin_api": "on"}


@pytest.fixture
def site(site_with):
    """A site where Ann is an owner and has an authenticator app."""
    made = site_with(**SETTINGS)
    made.ann = made.user(confirmed=True)
    factors.add_totp(made, made.ann)
    return made


@pytest.fixture
def commands(site, tmp_path):
    made = Commands(site, tmp_path, **SETTINGS)
    made.run("admin", "grant", "ann@example.com", "owner")
    return made


@pytest.fixture
def keys(site):
    """The client that `admin-clients` names."""
    made = site.client_with_id(CONSOLE)
    with site.db() as db:
        db.execute(update(Client).values(scope=f"{BOTH} notes:read"))
    return made


def login(site, keys, scope=BOTH, steps=0, status=200):
    return site.login(keys, otp=factors.code_now(steps=steps), scope=scope, status=status)


def me(site, tokens, status=200):
    return site.http.get("/v1/admin/me", headers=bearer(tokens["access_token"]), status=status)


def test_an_owner_administers_with_a_client_of_the_setting(site, commands, keys):
    tokens = login(site, keys)
    assert "scope" not in tokens
    assert me(site, tokens).json["scopes"] == sorted([READ, WRITE])
    assert site.refresh(keys, tokens["refresh_token"])["scope"] == BOTH


def test_no_other_client_gets_a_scope_of_administrators(site, commands):
    other = site.client(scope=f"{BOTH} notes:read")
    assert login(site, other, f"{BOTH} notes:read")["scope"] == "notes:read"
    assert login(site, other, BOTH, 1, 400)["error"] == "invalid_scope"
    assert [each.scope for each in site.families()] == ["notes:read"]


def test_a_user_has_what_the_own_groups_bind(site, commands, keys):
    commands.run("admin", "grant", "ann@example.com", "support")
    site.user("bo@example.com", confirmed=True)
    commands.run("admin", "grant", "bo@example.com", "owner")
    commands.run("admin", "revoke", "ann@example.com", "owner")
    assert login(site, keys)["scope"] == READ  # support may not write


def test_who_is_no_administrator_has_none(site, keys):
    assert login(site, keys, f"{READ} notes:read")["scope"] == "notes:read"
    assert login(site, keys, READ, 1, 400)["error"] == "invalid_scope"


def test_a_sign_in_below_the_level_of_administrators_has_none(site, commands, keys):
    tokens = login(site, keys, f"{READ} notes:read")
    with site.db() as db:
        db.execute(update(Family).values(facts=pack(("pwd",))))
    weak = site.refresh(keys, tokens["refresh_token"])
    assert weak["scope"] == "notes:read"
    asked = {"scope": READ, "status": 400}
    assert site.refresh(keys, weak["refresh_token"], **asked)["error"] == "invalid_scope"


def test_the_level_is_that_of_the_setting(sites, site, commands, keys):
    tokens = login(site, keys)
    strict = sites(**SETTINGS, admin_acr="phr")
    assert me(strict, tokens, 401).json["errors"][0]["code"] == "insufficient_user_authentication"
    refused = strict.refresh(keys, tokens["refresh_token"], 400)
    assert refused["error"] == "invalid_scope"
    site.refresh(keys, tokens["refresh_token"])


def test_a_client_that_the_setting_names_no_more_gets_none_from_the_next_refresh(
    sites, site, commands, keys
):
    tokens = login(site, keys, f"{READ} notes:read")
    without = sites(admin_api="on")
    assert without.refresh(keys, tokens["refresh_token"])["scope"] == "notes:read"


def test_a_code_gives_them_too(site_with, tmp_path):
    site = site_with(**SETTINGS, base_url="https://auth.example.com")
    site.user(confirmed=True)
    Commands(site, tmp_path, **SETTINGS).run("admin", "grant", "ann@example.com", "viewer")
    sign_in(site)
    app = site.client_with_id(CONSOLE, "server")
    with site.db() as db:
        db.execute(update(Client).values(scope=BOTH, first_party=True))
    for proofs, scope in ((STRONG[:1], "openid"), (STRONG, f"openid {READ}")):
        with site.db() as db:
            db.execute(update(BrowserSession).values(facts=pack(proofs)))
        assert redeem(site, app, code_of(site, app, f"openid {BOTH}"))["scope"] == scope


@pytest.mark.both_databases
def test_who_loses_a_role_loses_the_tokens_that_carry_its_scopes(site, commands, keys, frozen):
    site.user("bo@example.com", confirmed=True)
    for email, role in (("bo@example.com", "owner"), ("ann@example.com", "viewer")):
        commands.run("admin", "grant", email, role)
    others = site.client(scope="notes:read")
    reading, writing, other = (
        login(site, client, scope, steps)
        for client, scope, steps in ((keys, READ, -1), (keys, BOTH, 0), (others, "notes:read", 1))
    )
    commands.run("admin", "revoke", "ann@example.com", "owner")
    me(site, writing, 401)
    me(site, reading)  # viewers read, too
    commands.run("admin", "revoke", "ann@example.com", "viewer")
    me(site, reading, 401)
    site.me(other["access_token"])
    with site.db() as db:
        why = db.scalars(select(Family.revoked_why).where(Family.revoked_at.is_not(None))).all()
    assert why == ["no group gives its scope"] * 2


def test_all_tokens_that_carry_one_end_by_command(site, commands, keys):
    tokens = login(site, keys)
    other = login(site, keys, READ, 1)
    assert commands.json("token", "revoke", "--scope", WRITE)["revoked"] == 1
    me(site, tokens, 401)
    me(site, other)


def test_doctor_warns_of_clients_that_are_not_to_administer(site, commands, keys):
    site.client("personal", scope=READ, name="by itself")
    other = site.client(scope=READ, name="other")

    def named():
        findings = commands.json("doctor", status=1)["findings"]
        return [
            each["message"] for each in findings if "scopes of administrators" in each["message"]
        ]

    [message] = named()
    assert other.client_id in message
    with site.db() as db:
        query = update(Client).where(Client.id == UUID(keys.client_id))
        db.execute(query.values(scope="admin:reports"))
    assert len(named()) == 2


@pytest.mark.both_databases
@pytest.mark.parametrize("refreshes", [False, True])
def test_tokens_that_are_issued_while_a_role_is_lost_do_not_carry_its_scopes(
    site, commands, keys, refreshes
):
    commands.run("admin", "grant", "ann@example.com", "viewer")
    tokens = login(site, keys, f"{BOTH} notes:read", -1)
    narrowed = site.refresh(keys, tokens["refresh_token"], scope="notes:read")
    form = {
        "grant_type": "password",
        "username": "ann@example.com",
        "password": PASSWORD,
        "otp": factors.code_now(),
    }
    if refreshes:
        form = {"grant_type": "refresh_token", "refresh_token": narrowed["refresh_token"]}
    site.user("bo@example.com", confirmed=True)
    commands.run("admin", "grant", "bo@example.com", "owner")
    with ThreadPoolExecutor(1) as pool:
        with Session(site.database.transactional) as db, db.begin():
            ctx = acting(db, site.app.registry["authsite"], language="en")
            administrators.revoke(ctx, db.get(User, site.ann.id), "owner", Cause("command"))
            answer = pool.submit(site.token, keys, "*", scope=BOTH, **form)
            with pytest.raises(TimeoutError):
                answer.result(0.5)  # it waits for the change
        answer = answer.result(30)
    assert answer.status_int == 400 or answer.json["scope"] == READ
    families = [each.scope for each in site.families() if each.revoked_at is None]
    assert not any(WRITE in scope for scope in families)
