"""Tell the sign-in pages which application a sign-in leads to."""

from authsite.oauth import registered
from authsite.oauth.authorization_reasons import Refused
from authsite.platform.http.address import route_path
from authsite.platform.request_state import Request
from authsite.sign_in.onward import Onward, show_in

from . import continuation, request
from .request import Parameters


def find(of: Request, target: str) -> Onward | None:
    """The application of an authorization request that a sign-in leads to.

    A name that a stranger has chosen is not shown before the user is signed in.
    """
    path, _, query = target.partition("?")
    if path != route_path(of, "authsite.authorize"):
        return None
    ctx = of.authsite.ctx
    try:
        sent = continuation.read(ctx, request.pairs_of(query.encode())).sent
        client = registered.find(ctx, sent.once("client_id") or "")
        wants_login, max_age = request.LOGIN in sent.words("prompt"), request.max_age(sent)
    except Refused:
        return None
    if client is None:
        return None
    language = request.language(sent, of.authsite.settings.languages)
    name = None if client.unverified else client.name
    return Onward(name, request.login_hint(sent), language, wants_login, max_age)


def take_language(of: Request, sent: Parameters) -> None:
    """Show the page in the first of ``ui_locales`` that is offered."""
    show_in(of, request.language(sent, of.authsite.settings.languages))
