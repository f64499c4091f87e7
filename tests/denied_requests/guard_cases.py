"""Guarded endpoints, userinfo above all: one request for each reason."""

from tests.support.personal import created
from tests.support.site import bearer

from .cases import Denied, case
from .introspection_cases import logged_in
from .token_cases import NONE, resource_token, third_party_token

USERINFO, USER = "/v1/oauth/userinfo", "/v1/user"


def get(world, shown, headers, path=USERINFO):
    return Denied(world.site.http.get(path, headers=headers, status="*"), shown)


@case("guard.no_token")
def no_token(world):
    return get(world, {"sent": "the scheme Token"}, {"Authorization": "Token SECRET-marker"})


@case("guard.not_valid")
def not_valid(world):
    shown = {"sent": "a refresh token by its first letters, 17 characters"}
    return get(world, shown, bearer("rt_REFRESH-marker"))


@case("guard.not_active")
def not_active(world):
    site, _keys, tokens = logged_in(world)
    site.logout(tokens["access_token"])
    return get(world, NONE, bearer(tokens["access_token"]))


@case("guard.scope")
def scope(world):
    _site, _keys, tokens = logged_in(world)
    return get(world, {"expected": "openid"}, bearer(tokens["access_token"]))


@case("guard.application")
def application_of_third_party(world):
    _app, token = third_party_token(world)
    return get(world, NONE, bearer(token), USER)


@case("guard.other_audience")
def other_audience(world):
    return get(world, NONE, bearer(resource_token(world)))


@case("guard.login")
def login(world):
    _site, _keys, tokens = logged_in(world)
    token = created(world.site, tokens["access_token"])
    return get(world, NONE, bearer(token), "/v1/user/tokens")


@case("guard.scope_unnamed")
def scope_unnamed(world):
    _app, token = third_party_token(world)
    return get(world, NONE, bearer(token), "/v1/guard/api")


@case("guard.client")
def client(world):
    _site, _keys, tokens = logged_in(world)
    return get(world, NONE, bearer(tokens["access_token"]), "/v1/guard/api?caller=client")


@case("guard.group")
def group(world):
    _site, _keys, tokens = logged_in(world)
    return get(world, NONE, bearer(tokens["access_token"]), "/v1/guard/api?group=ops")
