"""Introspection and revocation: the client learns nothing, the operator why."""

from authsite.users.models import User
from tests.support.personal import created

from .cases import case
from .token_cases import (
    MCP,
    NONE,
    post,
    resource_token,
    set_client,
    third_party_token,
    update_all,
)

INTROSPECT, REVOKE = "/v1/oauth/introspect", "/v1/oauth/revoke"


def ask(world, keys, token, shown=NONE, path=INTROSPECT):
    return post(world, keys.form(token=token), shown, path=path)


def logged_in(world, **settings):
    site = world.another(**settings)
    site.user(confirmed=True)
    keys = site.client()
    return site, keys, site.login(keys)


@case("introspection.not_a_token")
def not_a_token(world):
    shown = {"sent": "an access token by its first letters, 16 characters"}
    return ask(world, world.site.client(), "at_ACCESS-marker", shown)


@case("introspection.ended")
def ended(world):
    site, keys, tokens = logged_in(world)
    site.logout(tokens["access_token"])
    return ask(world, keys, tokens["access_token"], {"client": keys.client_id})


@case("introspection.replaced")
def replaced(world):
    site, keys, tokens = logged_in(world)
    later = site.refresh(keys, tokens["refresh_token"])
    site.refresh(keys, later["refresh_token"])
    return ask(world, keys, tokens["access_token"])


@case("introspection.other_client")
def other_client(world):
    site, keys, tokens = logged_in(world)
    return ask(world, site.client(), tokens["access_token"], {"expected": keys.client_id})


@case("introspection.other_resource")
def other_resource(world):
    token, shown = resource_token(world), {"sent": MCP, "expected": "none"}
    return ask(world, world.site.client("resource-server"), token, shown)


@case("introspection.third_party")
def third_party(world):
    app, token = third_party_token(world)
    shown = {"sent": f"token of client {app.client_id}"}
    return ask(world, world.site.client("resource-server"), token, shown)


@case("introspection.personal")
def personal(world):
    site, keys, tokens = logged_in(world)
    return ask(world, keys, created(site, tokens["access_token"]))


@case("introspection.confirmation")
def confirmation(world):
    site, keys, tokens = logged_in(
        world, registration="domains", registration_domains="example.com"
    )
    update_all(site, User, email_verified_at=None)
    return ask(world, keys, tokens["access_token"])


@case("introspection.factor")
def factor(world):
    clock = world.fixture("frozen")
    _site, keys, tokens = logged_in(
        world, second_factor="required", second_factor_from="2031-05-18", expires_in="7d"
    )
    clock.advance(2 * 24 * 3600)
    return ask(world, keys, tokens["access_token"])


@case("introspection.condition")
def condition(world):
    site, keys, tokens = logged_in(world)
    set_client(site, keys, require_group="ops")
    return ask(world, keys, tokens["refresh_token"])


@case("introspection.grant")
def grant(world):
    site, keys, tokens = logged_in(world)
    set_client(site, keys, grant_types="password")
    return ask(world, keys, tokens["refresh_token"])


@case("introspection.not_revocable")
def not_revocable(world):
    site, _keys, tokens = logged_in(world)
    return ask(world, site.client(), tokens["refresh_token"], path=REVOKE)
