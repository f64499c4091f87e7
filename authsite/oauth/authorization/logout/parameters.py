"""Read a request for a logout: OpenID Connect RP-Initiated Logout 1.0, sections 2 and 3."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from authsite.oauth import client_urls, redirect_uris, registered
from authsite.oauth.models import POST_LOGOUT
from authsite.oauth.oidc import id_tokens
from authsite.oauth.oidc.errors import NotOurIdToken
from authsite.oauth.registered import RegisteredClient
from authsite.oauth.tokens import kind_of
from authsite.platform.context import Context
from authsite.platform.runtime.ids import as_client_id, as_id

from ..request import MAX_REQUEST, MAX_STATE, Parameters
from .reasons import LogoutReason, LogoutRefused

KNOWN = ("id_token_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales")


class HintedSession(NamedTuple):
    """The browser session that an ID token is about, and its user."""

    id: UUID
    user_id: UUID


class Logout(NamedTuple):
    """A valid request for a logout.

    ``hinted``: the session of a valid ID token; None without a hint. ``client``: the application
    that asks, if it says so. ``target``: the URL that the browser is led to afterwards.
    ``unverified``: no administrator has registered the application, which may be gone.
    """

    hinted: HintedSession | None
    client: RegisteredClient | None
    target: str | None
    unverified: bool


def parameters(pairs: Iterable[tuple[str, str]]) -> Parameters:
    """What was sent, of the parameters that are known here; an empty value counts as none.

    Raises `LogoutRefused` if it is too long, before anything else is done with it.
    """
    sent = [(name, value) for name, value in pairs if name in KNOWN]
    names = [name for name, _value in sent]
    repeated = frozenset(name for name in names if names.count(name) > 1)
    values = {name: value for name, value in sent if value}
    found = Parameters(urlencode(sent), values, repeated)
    if found.too_long:
        raise _too_long(len(found.query), MAX_REQUEST, "request")
    return found


def check(ctx: Context, sent: Parameters) -> Logout:
    """The request, if everything in it is right. Raises `LogoutRefused`, and SQLAlchemy's errors.

    The hint is signed by this service, whenever it has expired: a user must not be kept signed in
    because the application was idle.
    """
    values = sent.values
    if sent.repeated:
        names = {"parameter": " ".join(sorted(sent.repeated))}
        raise LogoutRefused(LogoutReason.REPEATED, names)
    if (length := len(values.get("state", ""))) > MAX_STATE:
        raise _too_long(length, MAX_STATE, "state")
    claims = _claims(ctx, values.get("id_token_hint"))
    client_id = values.get("client_id")
    if claims is not None:
        audience = str(claims.get("aud"))
        if client_id and not _is_same(client_id, audience):
            both = {"sent": client_id, "expected": audience}
            raise LogoutRefused(LogoutReason.CLIENT_OTHER, both, as_id(audience))
        client_id = audience
    client = registered.find(ctx, client_id) if client_id else None
    if client_id and client is None and claims is None:
        raise LogoutRefused(LogoutReason.CLIENT_UNKNOWN, {"sent": client_id})
    target = _target(ctx, client, values)
    unverified = client.unverified if client else client_urls.is_url(client_id or "")
    return Logout(None if claims is None else _session_of(claims), client, target, unverified)


def _too_long(length: int, most: int, what: str) -> LogoutRefused:
    shown = {"sent": f"{length} characters", "expected": f"at most {most} characters of {what}"}
    return LogoutRefused(LogoutReason.TOO_LONG, shown)


def _is_same(client_id: str, audience: str) -> bool:
    """Whether the request names the client for which the ID token is; see `as_client_id`."""
    if client_id == audience:
        return True
    named = as_client_id(client_id)
    return named is not None and named == as_id(audience)


def _claims(ctx: Context, hint: str | None) -> Mapping[str, object] | None:
    if hint is None:
        return None
    try:
        return id_tokens.claims_of(ctx, hint)
    except NotOurIdToken:
        raise LogoutRefused(LogoutReason.HINT, {"sent": kind_of(hint)}) from None


def _session_of(claims: Mapping[str, object]) -> HintedSession:
    session_id, user_id = (as_id(str(claims.get(name))) for name in ("sid", "sub"))
    if session_id is None or user_id is None:
        raise LogoutRefused(LogoutReason.HINT_SESSION, client_id=as_id(str(claims.get("aud"))))
    return HintedSession(session_id, user_id)


def _target(ctx: Context, client: RegisteredClient | None, values: Mapping[str, str]) -> str | None:
    uri = values.get("post_logout_redirect_uri")
    if uri is None:
        return None
    if client is None:
        named = values.get("id_token_hint")  # its client was disabled or deleted since
        reason = LogoutReason.CLIENT_UNKNOWN if named else LogoutReason.URI_UNCHECKED
        raise LogoutRefused(reason, {"sent": uri, "expected": "id_token_hint or client_id"})
    known = registered.uris_of(ctx, client.id, POST_LOGOUT)
    if not any(redirect_uris.matches(each, uri, client.type) for each in known):
        differs = redirect_uris.difference(known, uri, client.type)
        raise LogoutRefused(LogoutReason.URI, {"sent": uri, **differs}, client.id)
    if "state" not in values:
        return uri
    return f"{uri}{'&' if '?' in uri else '?'}{urlencode({'state': values['state']})}"
