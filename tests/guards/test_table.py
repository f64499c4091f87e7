"""Every combination of variant, keys, guard, options and caller: who comes in, and who does not.

Finding M6: a combination that was not tested (Variant B, `verified=True`) was open.
"""

import itertools

import pytest
from webtest import TestApp

from authsite.users import service as users
from tests.support.acting import acting
from tests.support.host import hello
from tests.support.pages import sign_in
from tests.support.site import bearer

OPTIONS = {
    "plain": {},
    "not-verified": {"verified": False},
    "verified": {"verified": True},
    "unconfirmed": {"unconfirmed": True},
    "scope": {"scope": "reports:read"},
    "anonymous": {"anonymous": True},
    "fresh": {"fresh": "1d"},
    "user": {"caller": "user"},
    "client": {"caller": "client"},
    "any-verified": {"caller": "any", "verified": True},
}
CREDENTIALS = ("nothing", "token", "cookie", "both")
USERS = ("confirmed", "unconfirmed", "disabled")
KEYS = ("require_email_verification", "require_email_confirmation")


def routes(config):
    for guard, (name, options) in itertools.product(("api", "web", "any"), OPTIONS.items()):
        if guard == "web" and options.keys() & {"scope", "caller"}:
            continue  # refused at the start
        if (guard, name) == ("any", "client"):
            continue  # likewise
        config.add_route(f"{guard}.{name}", f"/{guard}/{name}", guard=guard, **options)
        config.add_view(hello, route_name=f"{guard}.{name}")
    config.add_route("open", "/open")
    config.add_view(hello, route_name="open")


def expected(settings, guard, name, credential, user, scope):
    """The status and error code by the contract; None for what has no code."""
    if guard == "any":  # the token decides, if one is sent
        guard = "api" if credential in ("token", "both") else "web"
        name = "plain" if guard == "web" and name in ("scope", "user") else name
        name = "verified" if guard == "web" and name == "any-verified" else name
    opens = {"api": ("token", "both"), "web": ("cookie", "both")}[guard]
    if name == "anonymous" and (guard == "web" or credential in ("nothing", "cookie")):
        return 200, None
    if credential not in opens or user == "disabled":
        return 401, None
    if name == "scope" and not scope:
        return 403, "insufficient_scope"
    if name == "client" and user != "client":
        return 403, "client_required"
    verified = name in ("verified", "any-verified")
    if settings["variant"] == "A":
        needed = verified and settings["require_email_verification"] == "true"
        code = "email_not_verified"
    else:
        needed = verified or (
            settings["require_email_confirmation"] == "true" and name != "unconfirmed"
        )
        code = "email_not_confirmed"
    if needed and user == "unconfirmed":
        return 403, code
    if user == "client" and (name in ("fresh", "user") or (name == "verified" and needed)):
        return 403, "user_required"
    return 200, None


def answer(site, path, credential, token):
    carried = bearer(token) if credential in ("token", "both") else {}
    browser = site.http if credential in ("cookie", "both") else TestApp(site.app)
    reply = browser.get(path, headers={"Accept": "application/json", **carried}, status="*")
    codes = [item["code"] for item in reply.json["errors"]] if reply.status_int != 200 else []
    return reply.status_int, codes[0] if codes else None


@pytest.mark.parametrize("keys", [*itertools.product(("true", "false"), repeat=2)])
@pytest.mark.parametrize("variant", ["A", "B"])
def test_m6_who_comes_in_is_what_variant_keys_and_options_say(host_with, variant, keys):
    settings = {"variant": variant, **dict(zip(KEYS, keys, strict=True))}
    site = host_with(routes, **settings)
    ann = site.user(confirmed=True)
    scoped = site.client(scope="reports:read", default_scope="reports:read")
    tokens = {
        True: site.login(scoped)["access_token"],
        False: site.login(site.client(name="plain"))["access_token"],
    }
    machine = site.token(site.client("personal"), grant_type="client_credentials").json
    sign_in(site)
    wrong = {}

    def look(guard, name, credential, user, scope, token):
        wanted = expected(settings, guard, name, credential, user, scope)
        found = answer(site, f"/{guard}/{name}", credential, token)
        if found != wanted:
            wrong[guard, name, credential, user, scope] = (found, wanted)

    for user in USERS:
        with site.db() as db:
            stored = users.find(db, str(ann.id))
            if user == "unconfirmed":
                stored.email_verified_at = None
            if user == "disabled":
                users.disable(acting(db), stored)
        for route in sorted(r.name for r in site.app.routes_mapper.get_routes()):
            guard, _, name = route.partition(".")
            if guard not in ("api", "web", "any"):
                continue
            for credential, scope in itertools.product(CREDENTIALS, (True, False)):
                look(guard, name, credential, user, scope, tokens[scope])
    for name in OPTIONS:
        look("api", name, "token", "client", False, machine["access_token"])
    assert wrong == {}
    assert site.http.get("/open", status=200).text == "hello you"
