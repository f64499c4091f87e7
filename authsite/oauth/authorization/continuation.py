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

from authsite.oauth.authorization_reasons import Reason, Refused
from authsite.platform.context import Context
from authsite.platform.crypto.keys import Keys
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.http.return_to import MAX_LENGTH
from authsite.platform.runtime import clock
from authsite.platform.stored_requests import service as stored_requests

from . import request
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
