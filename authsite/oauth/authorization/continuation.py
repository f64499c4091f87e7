"""The way of a request through the login and other pages, and back to the authorization endpoint.

It comes back as ``next``: the same query, and a sealed moment in ``_at``. A sign-in later than that
satisfies ``prompt=login`` and any ``max_age``, so that a user does not have to sign in for ever.
The seal is bound to the query and to the browser, by the value of its CSRF cookie. ``_as`` says in
the same way that the user chose to go on with the account of this session. A query that is too long
for ``next`` is stored, and ``_ref`` is a sealed reference to it.
"""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import uuid4

from pyramid.response import Response

from authsite.oauth.authorization_reasons import AnswerTo, Reason, Refused
from authsite.oauth.clients import registered
from authsite.oauth.oidc.id_tokens import issuer_of
from authsite.platform import stored_requests
from authsite.platform.context import Context, Services
from authsite.platform.crypto.keys import Keys
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.http.address import route_path
from authsite.platform.http.headers import SAFE_METHODS
from authsite.platform.http.rendering import found
from authsite.platform.http.return_to import MAX_LENGTH
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in.login_url import Onward, show_in

from . import request
from .consent_page import lead_to
from .request import Parameters

AT, CHOSEN, REFERENCE = "_at", "_as", "_ref"
LIFETIME = timedelta(minutes=15)
NO_SIGN_IN = bytes(8)
STORED_FOR = timedelta(minutes=10)
KIND = "authorization"  # of a stored request
LIMIT = "authorize-address"
_AT = SealedFormat("Q8s")  # microseconds since 1970, and `SignedIn.digest`
_CHOSEN = SealedFormat("8s")
_REFERENCE = SealedFormat("16s")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Incoming(NamedTuple):
    """A request as it came, without what is ours; ``reference``: under which it is stored."""

    sent: Parameters
    at: str | None = None
    chosen: str | None = None
    reference: str | None = None


class Browser(NamedTuple):
    """What a seal is bound to: the CSRF seed, and the key of the session that the browser has."""

    seed: str
    session_key: str | None

    @property
    def session_digest(self) -> bytes:
        """Eight bytes of a digest of the key; zero bytes without one."""
        key = self.session_key
        return sha256(key.encode()).digest()[:8] if key else bytes(8)


class LedToLogin(NamedTuple):
    """When this request led to the login page, and the digest of the sign-in of that time."""

    moment: datetime
    sign_in: bytes


def read(ctx: Context, pairs: list[tuple[str, str]]) -> Incoming:
    """The request in the ``pairs`` of a query. Raises `Refused` if it was stored and has ended."""
    own = dict(reversed([pair for pair in pairs if pair[0] in (AT, CHOSEN, REFERENCE)]))
    reference = own.get(REFERENCE)
    if reference is None:
        pairs = [pair for pair in pairs if pair[0] not in own]
    else:
        pairs = request.pairs_of(_stored(ctx, reference).encode())
    return Incoming(request.parameters(pairs), own.get(AT), own.get(CHOSEN), reference)


def store(ctx: Context, incoming: Incoming) -> Incoming:
    """Store the request in the transaction, unless it is; the same with a reference.

    Raises `Refused` if it is longer than a request may be.
    """
    if incoming.reference:
        return incoming
    if incoming.sent.too_long:
        raise Refused(Reason.TOO_LONG)
    expires = int((clock.now() + STORED_FOR).timestamp())
    reference = _REFERENCE.seal(
        ctx.services.keys["authorization reference"], uuid4().bytes, expires=expires
    )
    body = {"query": incoming.sent.query}
    stored_requests.store(ctx, KIND, body, STORED_FOR, key=reference)
    return incoming._replace(reference=reference)


def query_of(incoming: Incoming, **ours: str) -> str:
    """The query with which the request goes on; ``ours``: `AT` or `CHOSEN`, with the value."""
    reference = incoming.reference
    whole = urlencode({REFERENCE: reference}) if reference else incoming.sent.query
    return "&".join(filter(None, (whole, urlencode(ours))))


def fits(path: str) -> bool:
    """Whether a path with its query may be a ``next``."""
    return len(path) <= MAX_LENGTH


def seal_at(keys: Keys, incoming: Incoming, browser: Browser, sign_in: bytes) -> str:
    """The value of ``_at`` for a request that leads to the login page now.

    ``sign_in``: the digest of the present sign-in; `NO_SIGN_IN` without one.
    """
    now = clock.now()
    moment = (now - _EPOCH) // timedelta(microseconds=1)
    return _AT.seal(
        keys["authorization time"],
        moment,
        sign_in,
        expires=int((now + LIFETIME).timestamp()),
        bound=_bound(incoming, browser),
    )


def led_to_login(keys: Keys, incoming: Incoming, browser: Browser) -> LedToLogin | None:
    """What ``_at`` says; None without one, or if it is of another request, browser or too old."""
    if incoming.at is None:
        return None
    ring, bound = keys["authorization time"], _bound(incoming, browser)
    found = _AT.unseal(ring, incoming.at, clock.now(), bound)
    if found is None:
        return None
    return LedToLogin(_EPOCH + timedelta(microseconds=found[0]), found[1])


def seal_chosen(keys: Keys, incoming: Incoming, browser: Browser) -> str:
    """The value of ``_as``: the user goes on with the account of this session."""
    return _CHOSEN.seal(
        keys["authorization choice"],
        browser.session_digest,
        expires=int((clock.now() + LIFETIME).timestamp()),
        bound=_bound(incoming, browser),
    )


def is_chosen(keys: Keys, incoming: Incoming, browser: Browser) -> bool:
    """Whether ``_as`` is of this request, this browser and its session."""
    ring, text = keys["authorization choice"], incoming.chosen or ""
    found = _CHOSEN.unseal(ring, text, clock.now(), _bound(incoming, browser))
    return found is not None and compare_digest(found[0], browser.session_digest)


def _stored(ctx: Context, reference: str) -> str:
    ring = ctx.services.keys["authorization reference"]
    if _REFERENCE.unseal(ring, reference, clock.now()) is None:
        raise Refused(Reason.TOO_OLD)
    body = stored_requests.find(ctx, KIND, reference)
    if body is None:
        raise Refused(Reason.TOO_OLD)
    return str(body["query"])


def _bound(incoming: Incoming, browser: Browser) -> bytes:
    return sha256(incoming.sent.query.encode()).digest() + browser.seed.encode()


# Tell the sign-in pages which application a sign-in leads to.


def find(of: Request, target: str) -> Onward | None:
    """The application of an authorization request that a sign-in leads to.

    A name that a stranger has chosen is not shown before the user is signed in.
    """
    path, _, query = target.partition("?")
    if path != route_path(of, "authsite.authorize"):
        return None
    ctx = of.authsite.ctx
    try:
        sent = read(ctx, request.pairs_of(query.encode())).sent
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


# The way back to the application (RFC 6749, section 4.1.2; RFC 9207).


def code_url(services: Services, answer_to: AnswerTo, code: str) -> str:
    """The URL that carries a code to the application."""
    return _url(services, answer_to, {"code": code})


def error_url(services: Services, answer_to: AnswerTo, refused: Refused) -> str:
    """The URL that tells the application why there is no code, in English."""
    error = {"error": refused.reason.error, "error_description": refused.description}
    return _url(services, answer_to, error)


def denied_url(services: Services, answer_to: AnswerTo) -> str:
    """The URL that tells the application that the user does not allow it."""
    error = {"error": "access_denied", "error_description": "The user did not allow this."}
    return _url(services, answer_to, error)


def lead_back(request: Request, application: str, url: str, *, after_form: bool) -> Response:
    """Lead the browser to the application of this name.

    ``after_form``: a form of ours led here, even by way of redirects. Chromium applies the policy's
    ``form-action`` to each hop after a form, so the browser gets a page that leads on.
    """
    if after_form or request.method not in SAFE_METHODS:
        request.response.status_int = 200  # a form with errors may have set another one
        return lead_to(request, application, url)
    return found(request, url)


def _url(services: Services, answer_to: AnswerTo, values: dict[str, str]) -> str:
    state = {} if answer_to.state is None else {"state": answer_to.state}
    query = urlencode({**values, **state, "iss": issuer_of(services)})
    uri = answer_to.redirect_uri
    return f"{uri}{'&' if '?' in uri else '?'}{query}"
