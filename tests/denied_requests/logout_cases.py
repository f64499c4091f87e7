"""The end session endpoint: one request for each reason."""

from urllib.parse import urlencode

from authsite.oauth.oidc import id_tokens
from tests.support.acting import acting
from tests.support.authorizing import application, code_for, redeemed
from tests.support.codes import claims_of
from tests.support.signing_out import GOODBYE, PATH, register

from .cases import Denied, case
from .token_cases import NONE


def ask(world, shown, **sent):
    return Denied(world.site.http.get(f"{PATH}?{urlencode(sent)}", status="*"), shown)


def signed_in(world):
    """An application with an address for after the logout, and Ann's ID token."""
    site = world.site
    site.user(confirmed=True)
    app = application(site)
    register(site, app, GOODBYE)
    return app, redeemed(site, app, code_for(site, app))["id_token"]


@case("logout.client_other")
def client_other(world):
    app, token = signed_in(world)
    other = application(world.site).client_id
    shown = {"sent": other, "expected": app.client_id, "client": app.client_id}
    return ask(world, shown, id_token_hint=token, client_id=other)


@case("logout.client_unknown")
def client_unknown(world):
    return ask(world, {"sent": "no-such-client"}, client_id="no-such-client")


@case("logout.hint")
def hint(world):
    shown = {"sent": "an access token by its first letters, 16 characters"}
    return ask(world, shown, id_token_hint="at_ACCESS-marker")


@case("logout.hint_session")
def hint_session(world):
    app, token = signed_in(world)
    claims = {name: each for name, each in claims_of(token).items() if name != "sid"}
    ctx = acting(None, world.site.app.registry["authsite"])
    token = id_tokens.sign(ctx, claims, "RS256")
    return ask(world, {"client": app.client_id}, id_token_hint=token)


@case("logout.repeated")
def repeated(world):
    answer = world.site.http.get(f"{PATH}?state=a&state=b", status="*")
    return Denied(answer, {"parameter": "state"})


@case("logout.too_long")
def too_long(world):
    shown = {"sent": "3000 characters", "expected": "at most 2048 characters of state"}
    return ask(world, shown, state="s" * 3000)


@case("logout.unreadable")
def unreadable(world):
    return Denied(world.site.http.get(f"{PATH}?x=%ff", status="*"), NONE)


@case("logout.uri")
def uri(world):
    app, token = signed_in(world)
    sent = f"{GOODBYE}/"
    shown = {"sent": sent, "nearest": GOODBYE, "differs": "slash", "client": app.client_id}
    return ask(world, shown, id_token_hint=token, post_logout_redirect_uri=sent)


@case("logout.uri_unchecked")
def uri_unchecked(world):
    shown = {"sent": GOODBYE, "expected": "id_token_hint or client_id"}
    return ask(world, shown, post_logout_redirect_uri=GOODBYE)
