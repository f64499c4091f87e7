"""What waits after the return from a provider: for a form, or for the press on a mailed link.

A row of `stored_requests` has what the provider told. Its key is in the paths of our pages and, in
a sealed form that only the server can make, in the mailed link: neither opens anything in another
browser than the one that began, which has the cookie of `browser`.
"""

import hmac
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from authsite.platform import stored_requests
from authsite.platform.context import Context
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_id
from authsite.platform.settings.sections.providers import Provider
from authsite.sign_in.methods.provider.failures import ProviderFailure, ProviderRefused
from authsite.sign_in.methods.provider.protocol import LIFETIME, WHILE_A_MAIL_IS_AWAITED
from authsite.sign_in.methods.provider.values import ProvidedIdentity

KIND = "provider"
LINK_PURPOSE = "provider link"
_LINK = SealedFormat("16s")


class Waiting(NamedTuple):
    """A return that goes on. ``browser``: the value of the cookie of the browser that began.

    ``address``: the one that is proved or has to be; None if it has to be asked for.
    ``mailed_at``: when a link to it was mailed. ``remember``, ``next`` and ``prompted``: those of
    the start.
    """

    id: uuid.UUID
    browser: str
    provided: ProvidedIdentity
    remember: bool = False
    next: str | None = None
    address: str | None = None
    mailed_at: datetime | None = None
    prompted: bool = False

    @property
    def lifetime(self) -> timedelta:
        """How long it waits."""
        return WHILE_A_MAIL_IS_AWAITED if self.mailed_at else LIFETIME


def keep(ctx: Context, waiting: Waiting) -> None:
    """Store it in the request's transaction."""
    provided = waiting.provided
    body = {
        "browser": _hash(waiting.browser),
        "provided": provided._replace(auth_time=None)._asdict(),
        "auth_time": _text(provided.auth_time),
        "remember": waiting.remember,
        "target": waiting.next,
        "address": waiting.address,
        "mailed_at": _text(waiting.mailed_at),
        "prompted": waiting.prompted,
    }
    stored_requests.store(ctx, KIND, body, waiting.lifetime, key=str(waiting.id))


def find(ctx: Context, provider: Provider, browser: str | None, key: str) -> Waiting:
    """What waits under ``key`` in this browser. Raises `ProviderRefused`."""
    id_ = as_id(key)
    body = stored_requests.find(ctx, KIND, str(id_)) if id_ else None
    if id_ is None or body is None or body["provided"]["provider"] != provider.name:
        raise ProviderRefused(ProviderFailure.ENDED, provider)
    if browser is None or not hmac.compare_digest(_hash(browser), body["browser"]):
        raise ProviderRefused(ProviderFailure.LINK_IN_OTHER_BROWSER, provider)
    return Waiting(
        id_,
        browser,
        _provided(body),
        body["remember"],
        body["target"],
        body["address"],
        _time(body["mailed_at"]),
        body["prompted"],
    )


def spend(ctx: Context, provider: Provider, waiting: Waiting) -> None:
    """Use it up in the request's transaction. Raises `ProviderRefused` if another request has."""
    if stored_requests.spend(ctx, KIND, str(waiting.id)) is None:
        raise ProviderRefused(ProviderFailure.ENDED, provider)


def link_token(keys: Mapping[str, Any], id_: uuid.UUID, expires_at: datetime) -> str:
    """The token of the mailed link, until ``expires_at`` (whole seconds)."""
    return _LINK.seal(keys[LINK_PURPOSE], id_.bytes, expires=int(expires_at.timestamp()))


def read_link(ctx: Context, provider: Provider, token: str) -> str:
    """The key that a mailed link has. Raises `ProviderRefused`."""
    values = _LINK.unseal(ctx.services.keys[LINK_PURPOSE], token, clock.now())
    if values is None:
        raise ProviderRefused(ProviderFailure.ENDED, provider)
    return str(uuid.UUID(bytes=values[0]))


def _provided(body: Mapping[str, Any]) -> ProvidedIdentity:
    return ProvidedIdentity(**body["provided"])._replace(auth_time=_time(body["auth_time"]))


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _hash(browser: str) -> str:
    return sha256(browser.encode()).hexdigest()
