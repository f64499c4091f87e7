"""A personal access token in use: what it opens, and where it does not count as a login."""

import pytest
from sqlalchemy import update

from authsite.oauth.tokens import format
from authsite.platform.runtime import clock
from authsite.users.models import User
from tests.support.host import hello
from tests.support.personal import PATH, created, errors, listed, personal_id, revoke, with_ann
from tests.support.site import WEB, bearer
from tests.support.statements import counted

HOUR = 3600


@pytest.fixture
def ann(site_with):
    """A site with Ann, her login and her personal access token."""
    return with_ann(site_with(**WEB))


def test_the_token_s_scope_is_its_own(host_with):
    def build(config):
        for scope in ("a", "b"):
            config.add_route(scope, f"/{scope}", guard="api", scope=scope)
            config.add_view(hello, route_name=scope)
        config.add_route("page", "/page", guard="web")
        config.add_view(hello, route_name="page")
        config.add_route("caller", "/caller", guard="api")
        config.add_view(
            lambda request: request.authsite.caller, route_name="caller", renderer="json"
        )

    site = with_ann(host_with(build, **WEB))
    headers = bearer(site.personal)
    site.http.get("/a", headers=headers)
    refused = site.http.get("/b", headers=headers, status=403)
    assert errors(refused) == [("insufficient_scope", None)]
    site.http.get("/page", headers={**headers, "Accept": "application/json"}, status=401)
    caller = site.http.get("/caller", headers=headers).json
    assert caller["user"]["email"] == "ann@example.com"
    del caller["user"]
    assert caller == {
        "guard": "api", "email": "ann@example.com", "email_verified": True,
        "scope": ["a"], "client_id": None, "client_name": None, "session_id": None,
        "groups": [], "acr": None, "amr": [], "auth_time": None,
    }  # fmt: skip


def test_a_narrower_login_later_does_not_widen_or_end_the_token(ann):
    pair = ann.login(ann.keys, scope="a b")
    token = created(ann, pair["access_token"], scope="a b")
    ann.refresh(ann.keys, pair["refresh_token"], scope="a")
    ann.me(token)


@pytest.mark.parametrize("prefix", ["pat_", "rt_", "at_"])
def test_the_token_is_no_refresh_token_under_any_prefix(ann, prefix):
    text = prefix + ann.personal.removeprefix("pat_")
    assert ann.refresh(ann.keys, text, status=400)["error"] == "invalid_grant"
    answer = ann.http.post_json("/v1/clients/web/refresh", {"refresh_token": text}, status=400)
    assert answer.json["error"] == "invalid_grant"
    ann.me(ann.personal)  # nothing was revoked


@pytest.mark.parametrize("grant", ["password", "client_credentials", "refresh_token"])
def test_the_token_does_not_stand_in_for_a_client_s_credentials(ann, grant):
    form = {"grant_type": grant, "client_id": str(personal_id(ann)), "client_secret": ann.personal}
    answer = ann.http.post("/v1/oauth/token", form, headers=bearer(ann.personal), status=401)
    assert answer.json["error"] == "invalid_client"


def test_a_login_s_token_with_the_other_prefix_is_forged(ann):
    ann.me("pat_" + ann.login_of_ann.removeprefix("at_"), status=401)
    ann.me("at_" + ann.personal.removeprefix("pat_"), status=401)
    ann.me("PAT_" + ann.personal.removeprefix("pat_"), status=401)


def test_a_forged_or_expired_token_is_refused_without_a_query(ann, frozen):
    ann.login_of_ann = ann.login(ann.keys)["access_token"]
    short = created(ann, ann.login_of_ann, expires_in="1h")
    last = "A" if short[-1] != "A" else "B"
    with counted(ann.database) as statements:
        ann.me(short[:-1] + last, status=401)
        ann.me("pat_", status=401)
        frozen.advance(HOUR)
        ann.me(short, status=401)
    assert statements == []


def test_a_good_token_costs_one_query(ann):
    ann.me(ann.personal)
    with counted(ann.database) as statements:
        ann.me(ann.personal)
    assert len(statements) == 1


def test_only_a_token_s_own_key_signs_it(ann):
    """The family's id and expiry under the key of access tokens make no personal token."""
    keys = ann.app.registry["authsite"].keys
    token = format.Token(personal_id(ann), 0, int(clock.now().timestamp()) + HOUR)
    for kind in (format.ACCESS, format.REFRESH):
        text = format.encode(keys, kind, token).removeprefix(kind)
        ann.me(format.PERSONAL_TOKEN + text, status=401)


def test_the_last_use_is_listed_to_the_hour(ann, frozen):
    login = ann.login(ann.keys)["access_token"]
    token = created(ann, login)

    def last_used():
        ann.app.registry["authsite"].last_used.write()
        return listed(ann, login)[0]["last_used"]

    assert last_used() is None
    ann.me(token)
    assert last_used() == "2031-05-17T09:30:00Z"  # the hour began before the token was created
    frozen.advance(2 * HOUR)
    ann.me(token)
    assert last_used() == "2031-05-17T11:00:00Z"


def test_a_resource_server_is_told_about_the_token(ann, frozen):
    login = ann.login(ann.keys)["access_token"]
    token = created(ann, login, scope="a", expires_in="1h")
    resource = ann.client("resource-server")
    now = int(frozen.at.timestamp())
    assert ann.introspect(resource, token) == {
        "active": True,
        "scope": "a",
        "token_type": "Bearer",
        "exp": now + HOUR,
        "iat": now,
        "sub": str(ann.ann.id),
        "username": "ann@example.com",
        "email": "ann@example.com",
        "email_verified": True,
        "groups": [],
        "owner": "user",
    }
    ann.app.registry["authsite"].last_used.write()
    assert listed(ann, login)[0]["last_used"] == "2031-05-17T09:30:00Z"
    revoke(ann, login, listed(ann, login)[0]["id"])
    assert ann.introspect(resource, token) == {"active": False}


def test_forward_auth_lets_the_token_pass_with_its_scope(ann):
    answer = ann.http.get("/v1/guard/api?scope=a", headers=bearer(ann.personal), status=204)
    assert answer.headers["X-Auth-User"] == str(ann.ann.id)
    assert (answer.headers["X-Auth-Client"], answer.headers["X-Auth-Scope"]) == ("", "a")
    ann.http.get("/v1/guard/api?scope=b", headers=bearer(ann.personal), status=403)
    ann.http.get("/v1/guard/web", headers=bearer(ann.personal), status=401)


def test_no_other_client_learns_of_the_token_or_revokes_it(ann):
    for keys in (ann.keys, ann.client(), ann.client("personal")):
        assert ann.introspect(keys, ann.personal) == {"active": False}
        ann.http.post("/v1/oauth/revoke", keys.form(token=ann.personal))
    ann.me(ann.personal)


def test_a_token_is_never_a_recent_login(host_with):
    def build(config):
        config.add_route("transfer", "/transfer", guard="api", fresh="10m")
        config.add_view(hello, route_name="transfer")

    site = with_ann(host_with(build, **WEB))
    site.http.get("/transfer", headers=bearer(site.login_of_ann))
    answer = site.http.get("/transfer", headers=bearer(site.personal), status=401)
    assert errors(answer) == [("insufficient_user_authentication", None)]


@pytest.mark.control("T20")
@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"variant": "A"}, "email_not_verified"),
        ({"variant": "B"}, "email_not_confirmed"),
        ({"variant": "B", "require_email_confirmation": "true"}, "email_not_confirmed"),
    ],
)
def test_t20_verified_routes_and_forced_confirmation_hold_for_the_token(host_with, settings, code):
    def build(config):
        config.add_route("verified", "/verified", guard="api", verified=True)
        config.add_view(hello, route_name="verified")

    site = with_ann(host_with(build, **WEB, **settings))
    headers = bearer(site.personal)
    site.http.get("/verified", headers=headers)
    with site.db() as db:
        db.execute(update(User).values(email_verified_at=None))
    assert errors(site.http.get("/verified", headers=headers, status=403)) == [(code, None)]
    if "require_email_confirmation" in settings:
        assert errors(site.me(site.personal, status=403)) == [(code, None)]
        site.logout(site.personal)


def test_the_list_is_the_login_s_and_says_nothing_of_the_token_itself(ann):
    answer = ann.http.get(PATH, headers=bearer(ann.login_of_ann))
    assert "pat_" not in answer.text
    assert answer.headers["Cache-Control"] == "no-store"
