"""A client that has registered itself signs users in, and goes if it is never used."""

from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

import pytest
from click.testing import CliRunner

from authsite.cli import authsite
from authsite.oauth.clients import unused as unused_clients
from authsite.oauth.models import Client, Family
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.users.models import User
from tests.registering.conftest import OPEN
from tests.support.authorizing import (
    BASE,
    asks_consent,
    authorize,
    code_for,
    leads_to,
    log_in,
    press,
    redeemed,
    sign_in,
    target_of,
)
from tests.support.codes import claims_of
from tests.support.in_process import write_ini
from tests.support.registering import post, registered
from tests.support.site import bearer

DAY = 24 * 3600


def names(site):
    with site.db() as db:
        return {name for (name,) in db.query(Client.name)}


def purge(site, now):
    with site.database.autocommit.connect() as connection:
        batches = list(unused_clients.purge(connection, now, site.cfg))
    return sum(batch.deleted for batch in batches)


@pytest.mark.both_databases
@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_the_whole_way(issuer, ann, method):
    app = registered(issuer, token_endpoint_auth_method=method)
    answer = authorize(issuer, app, scope="openid email notes:read")
    assert leads_to(answer) == "/login"
    assert "Notes" not in issuer.http.get(target_of(answer)).text
    page = log_in(issuer, answer)
    assert "This application is not verified by" in " ".join(page.html.text.split())
    code = code_for(issuer, app, scope="openid email notes:read")
    if method == "client_secret_basic":
        issuer.http.authorization = ("Basic", (app.client_id, app.client_secret))
        tokens = redeemed(issuer, app, code, client_id=None, client_secret=None)
        issuer.http.authorization = None
    else:
        tokens = redeemed(issuer, app, code)
    assert claims_of(tokens["id_token"])["aud"] == app.client_id
    with issuer.db() as db:
        row = db.get(Client, UUID(app.client_id))
        assert row.used_at >= row.asked_at >= row.created_at
    issuer.http.get("/v1/user", headers=bearer(tokens["access_token"]), status=403)
    authorize(issuer, app, scope="openid billing").mustcontain("This client may not have: billing.")


def test_a_client_with_a_secret_needs_it(issuer, ann):
    app = registered(issuer, token_endpoint_auth_method="client_secret_post")
    code = code_for(issuer, app)
    for secret in (None, "wrong"):
        answer = redeemed(issuer, app, code, client_secret=secret, status=401)
        assert answer["error"] == "invalid_client"
    redeemed(issuer, app, code)


def test_nothing_leads_on_without_a_press(issuer, ann):
    app = registered(issuer)
    for changed in ({"prompt": "none"}, {"response_type": "token"}):
        answer = authorize(issuer, app, **changed)
        assert (answer.status_int, target_of(answer)) == (400, None)
    code_for(issuer, app)
    silent = authorize(issuer, app, prompt="none")
    assert (silent.status_int, target_of(silent)) == (400, None)
    assert asks_consent(authorize(issuer, app))
    refused = press(issuer, authorize(issuer, app), "deny")
    assert "error=access_denied" in target_of(refused)


def test_each_page_with_its_name_says_that_it_is_not_verified(issuer):
    user, app = issuer.user(), registered(issuer, client_name="Call 555")
    sign_in(issuer)
    page = authorize(issuer, app)  # the address is not confirmed
    assert (page.status_int, "Back to Call 555" in page.text) == (403, True)
    said = " ".join(page.html.text.split())
    assert "The link leads to app.example.org." in said
    assert "not verified by" in said
    with issuer.db() as db:
        db.get(User, user.id).email_verified_at = clock.now()
    page = authorize(issuer, app, prompt="select_account")
    assert "You are about to sign in to" in page.text
    assert "not verified by" in " ".join(page.html.text.split())
    page = issuer.http.get(f"{BASE}/oauth/logout?{urlencode({'client_id': app.client_id})}")
    assert "Sign out?" in page.text
    assert "Call 555" not in page.text


def test_there_is_no_way_back_after_a_logout(issuer, ann):
    uri = "https://app.example.org/bye"
    app = registered(issuer, post_logout_redirect_uris=[uri])
    query = urlencode({"client_id": app.client_id, "post_logout_redirect_uri": uri})
    issuer.http.get(f"{BASE}/oauth/logout?{query}", status=400)


@pytest.mark.both_databases
def test_what_is_never_used_goes_after_a_day(issuer, ann, frozen):
    used, unused = registered(issuer, client_name="used"), registered(issuer, client_name="unused")
    redeemed(issuer, used, code_for(issuer, used))
    assert purge(issuer, frozen.at + timedelta(seconds=DAY - 1)) == 0
    assert purge(issuer, frozen.at + timedelta(seconds=DAY)) == 1
    assert names(issuer) == {"used"}
    answer = issuer.http.post(
        "/v1/oauth/token",
        {"grant_type": "refresh_token", "refresh_token": "rt_x", "client_id": unused.client_id},
        status=401,
    )
    assert answer.json["error"] == "invalid_client"
    assert authorize(issuer, unused).status_int == 400
    with issuer.db() as db:
        event = db.query(AuditEvent).filter(AuditEvent.event == "client.expired").one()
    assert (event.client_id, event.request_id) == (UUID(unused.client_id), None)


@pytest.mark.both_databases
def test_a_flood_displaces_itself_and_nobody_else(site_with):
    """Honest clients get in all the same, also one in the middle of its sign-in."""
    limits = {"limits": "on", "limits.registration-total": "5/day"}
    site = site_with(**OPEN, **limits)
    site.user(confirmed=True)
    used = registered(site, client_name="used")
    redeemed(site, used, code_for(site, used))
    begun = registered(site, client_name="begun")
    page = authorize(site, begun)
    for number in range(12):
        post(site, client_name=f"flood {number}", address=f"198.51.100.{number}")
    honest = registered(site, client_name="honest")
    assert names(site) == {"used", "begun", "flood 10", "flood 11", "honest"}
    assert target_of(press(site, page)) is not None
    assert redeemed(site, honest, code_for(site, honest))["access_token"]
    assert site.events().count("client.expired") == 10


@pytest.mark.both_databases
def test_clients_that_a_user_signs_in_with_and_never_uses_displace_no_new_one(site_with, frozen):
    """Else a person with an account fills the table, and each registration ends the last one."""
    site = site_with(**OPEN, **{"limits": "on", "limits.registration-total": "3/day"})
    site.user(confirmed=True)
    sign_in(site)
    for number in range(3):
        authorize(site, registered(site, client_name=f"asked {number}"))
    frozen.advance(3600)
    honest = registered(site, client_name="honest")
    for number in range(2):
        post(site, client_name=f"flood {number}", address=f"198.51.100.{number}")
    assert names(site) == {"honest", "flood 0", "flood 1"}
    assert redeemed(site, honest, code_for(site, honest))["access_token"]


def test_an_address_registers_within_a_limit(site_with):
    site = site_with(**OPEN, **{"limits": "on", "limits.registration-address": "2/hour"})
    post(site, redirect_uris=[], status=400)
    for _ in range(2):
        post(site)
    assert post(site, status=429).json["error"] == "too_many_attempts"
    post(site, address="198.51.100.7")


def test_a_client_asks_for_more_than_it_has_named(issuer, ann):
    """Clients of MCP name what the first challenge says, and ask for more when they need it."""
    app = registered(issuer, scope="notes:read")
    code = code_for(issuer, app, scope="notes:read notes:write")
    tokens = redeemed(issuer, app, code)
    assert tokens["scope"] == "notes:read notes:write"


def test_scopes_that_the_setting_no_longer_has_are_refused(issuer, ann):
    app = registered(issuer)
    with issuer.db() as db:  # as it was registered while the setting had another one
        db.get(Client, UUID(app.client_id)).scope = "notes:read billing"
    sign_in(issuer)
    authorize(issuer, app, scope="openid billing").mustcontain("This client may not have: billing.")
    authorize(issuer, app, scope="openid notes:read").mustcontain('value="allow"')


def test_a_refresh_loses_the_scopes_that_the_setting_no_longer_has(issuer, ann):
    app = registered(issuer)
    tokens = redeemed(issuer, app, code_for(issuer, app, scope="openid notes:read"))
    with issuer.db() as db:  # as it was granted while the setting had another one
        db.query(Family).one().granted_scope = "openid notes:read billing"
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    answer = issuer.http.post("/v1/oauth/token", {**form, "client_id": app.client_id})
    assert answer.json["scope"] == "openid notes:read"


@pytest.fixture
def run(issuer, tmp_path):
    """Run ``authsite client``; the result."""
    ini = write_ini(tmp_path / "authsite.ini", issuer.url)

    def execute(*arguments):
        return CliRunner().invoke(authsite, ["client", *arguments, "--config", ini])

    return execute


def test_administrators_see_it_and_can_disable_it(issuer, ann, run):
    app = registered(issuer, token_endpoint_auth_method="client_secret_post")
    assert "dynamic" in run("list", "--type", "dynamic").stdout
    shown = run("show", app.client_id, "--json").stdout
    assert '"verified": false' in shown
    for refused in (
        run("update", app.client_id, "--name", "x"),
        run("update", app.client_id, "--first-party", "on"),
        run("update", app.client_id, "--redirect-uri", "https://x.example/"),
        run("rotate-secret", app.client_id),
    ):
        assert refused.exit_code != 0
        assert "registered itself" in refused.stderr
    tokens = redeemed(issuer, app, code_for(issuer, app))
    assert run("disable", app.client_id).exit_code == 0
    issuer.http.get("/v1/oauth/userinfo", headers=bearer(tokens["access_token"]), status=401)
    assert authorize(issuer, app).status_int == 400


def test_the_user_sees_that_it_is_not_verified(issuer, ann):
    app = registered(issuer)
    code_for(issuer, app)
    page = issuer.http.get(f"{BASE}/account/security")
    section = page.html.select_one("section[aria-labelledby=consents]")
    assert "Not verified by" in section.text
