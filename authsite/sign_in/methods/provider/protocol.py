"""The way to a provider and back: OpenID Connect Core 1.0, section 3.1, with PKCE (RFC 7636)."""

import hmac
import re
import secrets
import uuid
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlencode

from sqlalchemy.orm import Session

from authsite.platform import stored_requests
from authsite.platform.audit.excerpts import excerpt
from authsite.platform.context import Context
from authsite.platform.crypto.keys import KeyRing
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.http import cookies
from authsite.platform.http.application import HttpApplication
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.platform.settings.sections.providers import Provider
from authsite.platform.single_use import spend

from .documents import Endpoints, endpoints_of
from .exchange import Exchange, text_in
from .failures import ProviderFailure, ProviderRefused, keeping, stating
from .id_token import Tokens, subject_failure, verified_claims
from .people import Person, github_person, person_of, provided_identity
from .values import ProvidedIdentity, Purpose, Returned, Start, scopes

# The cookie that binds a way to a provider to the browser in which it began.


LIFETIME = timedelta(minutes=10)
WHILE_A_MAIL_IS_AWAITED = timedelta(hours=1)
_VALUE = re.compile(r"[A-Za-z0-9_-]{43}")  # 256 random bits


def keep_browser(request: Request, lifetime: timedelta = LIFETIME) -> str:
    """Set the cookie, or renew its time; its value, which stays for other tabs of the browser."""
    value = browser_of(request) or secrets.token_urlsafe(32)
    name = cookies.host_name(request, cookies.PROVIDER)
    seconds = int(lifetime.total_seconds())
    cookies.write(request, request.response, cookies.Cookie(name, value, seconds))
    return value


def browser_of(request: Request) -> str | None:
    """The value of the cookie that the browser sent, or None. It is a secret of the browser."""
    value = cookies.read(request, cookies.host_name(request, cookies.PROVIDER))
    return value if value and _VALUE.fullmatch(value) else None


# The parameter ``state``: a sealed value that a way to a provider begins with and returns with.
#
# It is bound to the browser by a digest over a random number and the value of the browser's
# cookie, so a provider cannot recognize a browser by it. Nonce and PKCE verifier are HMACs of it
# under the value of the cookie, which only the browser has: there is no row before the return.


KEY_PURPOSE = "provider-state"
LONGEST_NEXT = 512  # bytes
_PURPOSES = tuple(Purpose)
_REMEMBER, _STORED, _PROMPTED = 1, 2, 4
# Provider, purpose, flags, session, random, digest of the browser; and `next`, or the key under
# which it is stored. Three lengths, so that most values stay short.
_FORMATS = {size: SealedFormat(f"32sBB16s16s32s{size}s") for size in (0, 128, LONGEST_NEXT)}


class State(NamedTuple):
    """What a ``state`` contains. With ``stored``, ``start.next`` is a key of `stored_requests`."""

    provider: str
    start: Start
    stored: bool
    expires_at: datetime


def seal(ring: KeyRing, browser: str, provider: Provider, start: Start, stored: bool) -> str:
    """The value of ``state``, valid for ten minutes in this browser."""
    target = (start.next or "").encode()
    size = next(size for size in _FORMATS if len(target) <= size)
    salt = secrets.token_bytes(16)
    return _FORMATS[size].seal(
        ring,
        provider.name.encode(),
        _PURPOSES.index(start.purpose),
        _REMEMBER * start.remember | _STORED * stored | _PROMPTED * start.prompted,
        start.session_id.bytes if start.session_id else b"",
        salt,
        _digest(salt, browser),
        target,
        expires=int((clock.now() + LIFETIME).timestamp()),
    )


def unseal(ring: KeyRing, browser: str | None, provider: Provider, text: str) -> State:
    """What `seal` has sealed, for this browser and provider. Raises `ProviderRefused`."""
    found = (each.unseal_expired(ring, text) for each in _FORMATS.values())
    fields = next(filter(None, found), None)
    if fields is None:
        raise ProviderRefused(ProviderFailure.STATE, provider)
    name, purpose, flags, session, salt, digest, target, expires = fields
    if expires <= clock.now().timestamp():
        raise ProviderRefused(ProviderFailure.TOO_OLD, provider)
    if browser is None or not hmac.compare_digest(_digest(salt, browser), digest):
        raise ProviderRefused(ProviderFailure.OTHER_BROWSER, provider)
    if _text(name) != provider.name:
        raise ProviderRefused(ProviderFailure.OTHER_PROVIDER, provider)
    start = Start(
        _PURPOSES[purpose],
        bool(flags & _REMEMBER),
        _text(target) or None,
        uuid.UUID(bytes=session) if any(session) else None,
        bool(flags & _PROMPTED),
    )
    return State(provider.name, start, bool(flags & _STORED), datetime.fromtimestamp(expires, UTC))


def nonce_of(browser: str, state: str) -> str:
    """The ``nonce`` of a start (OpenID Connect Core 1.0, section 15.5.2)."""
    return _derived(browser, "nonce", state)


def verifier_of(browser: str, state: str) -> str:
    """The PKCE ``code_verifier`` of a start (RFC 7636, section 4.1)."""
    return _derived(browser, "verifier", state)


def challenge_of(verifier: str) -> str:
    """The ``code_challenge`` with the method S256 (RFC 7636, section 4.2)."""
    return _base64url(sha256(verifier.encode()).digest())


def _digest(salt: bytes, browser: str) -> bytes:
    return sha256(salt + browser.encode()).digest()


def _derived(browser: str, use: str, state: str) -> str:
    return _base64url(hmac.digest(browser.encode(), f"{use} {state}".encode(), "sha256"))


def _text(field: bytes) -> str:
    return field.rstrip(b"\0").decode()


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


NEXT = "provider-next"  # the kind of a stored request
# Errors of RFC 6749, section 4.1.2.1. Any other one has something for an administrator to mend,
# such as `consent_required` of Microsoft Entra.
_FAILURES = {
    "access_denied": ProviderFailure.CANCELED,
    "server_error": ProviderFailure.PROVIDER_BUSY,
    "temporarily_unavailable": ProviderFailure.PROVIDER_BUSY,
}


def begin(
    request: Request,
    provider: Provider,
    start: Start,
    *,
    login_hint: str | None = None,
    max_age: int | None = None,
) -> str:
    """The URL at ``provider`` that the browser goes to; sets the cookie on ``request.response``.

    It may ask the provider for its discovery, which takes up to five seconds: call it before the
    request reads or writes in its transaction. A long ``start.next`` is stored there. ``max_age``:
    how many seconds ago the person may have proved there to be who they are. GitHub, which is not
    an OpenID provider, is asked for neither.
    Raises `ProviderRefused` if the provider does not answer.
    """
    ctx = request.authsite.ctx
    endpoints = endpoints_of(Exchange(ctx.services, provider))
    browser = keep_browser(request)
    start = start._replace(prompted=start.prompted and endpoints.discovery is not None)
    stored = len((start.next or "").encode()) > LONGEST_NEXT
    if stored:
        start = start._replace(
            next=stored_requests.store(ctx, NEXT, {"target": start.next}, LIFETIME)
        )
    ring = ctx.services.keys[KEY_PURPOSE]
    state = seal(ring, browser, provider, start, stored)
    sent = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": redirect_uri(request, provider),
        "scope": " ".join(provider.scope),
        "state": state,
        "code_challenge": challenge_of(verifier_of(browser, state)),
        "code_challenge_method": "S256",
    }
    if endpoints.discovery:
        sent["nonce"] = nonce_of(browser, state)
        if login_hint:
            sent["login_hint"] = login_hint
        if start.prompted:
            sent["prompt"] = "login"
        if start.prompted or max_age is not None:
            sent["max_age"] = str(max_age or 0)  # it makes the provider tell the time
    url = endpoints.authorization
    return f"{url}{'&' if '?' in url else '?'}{urlencode([*sent.items(), *provider.extra])}"


def came_back(request: Request, provider: Provider) -> State:
    """What the ``state`` of a return to ``provider`` says, if it is of this browser.

    It costs no statement. Raises `ProviderRefused`: a page of any site can send its visitors here.
    """
    ring = request.authsite.services.keys[KEY_PURPOSE]
    return unseal(ring, browser_of(request), provider, request.GET.get("state", ""))


def finish(request: Request, provider: Provider, found: State) -> Returned:
    """The end of a way to ``provider``, on the path of its redirect URI, after `came_back`.

    It uses the ``state`` up in a separate transaction, and then asks the provider, which takes up
    to `RETURN_SECONDS`: call it while the request has no transaction. Raises `ProviderRefused`.
    """
    browser, state = browser_of(request), request.GET.get("state", "")
    start = _spend(request.authsite.ctx, provider, state, found)
    with keeping(start):
        return Returned(start, _provided(request, provider, state, browser or ""))


def redirect_uri(request: Request, provider: Provider) -> str:
    """The redirect URI to register at the provider: at the first `base-url`."""
    http: HttpApplication = request.registry["authsite.http"]
    own = http.addresses[0] if http.addresses else request.authsite.address
    return return_url(own.base_url, provider)


def start_url(request: Request, provider: Provider) -> str:
    """The URL of the page with the button, at the `base-url` that has the redirect URI."""
    return redirect_uri(request, provider).removesuffix("/return")


def return_url(base_url: str, provider: Provider) -> str:
    """The redirect URI of a provider below one base URL."""
    return f"{base_url}/login/with/{provider.name}/return"


def _spend(ctx: Context, provider: Provider, state: str, found: State) -> Start:
    """Use the ``state`` up, and the stored ``next`` with it."""
    with Session(ctx.database.transactional) as db, db.begin():
        if not spend(db, state, found.expires_at):
            raise ProviderRefused(ProviderFailure.USED, provider)
        if not found.stored:
            return found.start
        apart = Context(ctx.services, lambda: ctx.request_info, lambda: db)
        body = stored_requests.spend(apart, NEXT, found.start.next or "") or {}
        return found.start._replace(next=body.get("target"))


def _provided(request: Request, provider: Provider, state: str, browser: str) -> ProvidedIdentity:
    """Whom the provider tells, after a ``state`` that was ours."""
    given, ctx = request.GET, request.authsite.ctx
    if error := given.get("error"):
        failure = _FAILURES.get(error, ProviderFailure.PROVIDER_ERROR)
        raise ProviderRefused(failure, provider, details=_said_of_error(given))
    exchange = Exchange(ctx.services, provider)
    endpoints = endpoints_of(exchange)
    if not endpoints.returned_issuer(given.get("iss")):
        raise ProviderRefused(ProviderFailure.OTHER_PROVIDER, provider)
    if not given.get("code"):
        raise ProviderRefused(ProviderFailure.NO_CODE, provider)
    body = {
        "grant_type": "authorization_code",
        "code": given["code"],
        "redirect_uri": redirect_uri(request, provider),
        "code_verifier": verifier_of(browser, state),
    }
    tokens = _redeem(exchange, endpoints, body)
    asked, answered = excerpt(" ".join(provider.scope)), tokens.scope and excerpt(tokens.scope)
    with stating(scopes(asked, answered)):
        person = _person(exchange, endpoints, tokens, nonce_of(browser, state))
        provided = provided_identity(ctx.settings, provider, person)
    return provided._replace(asked_scope=asked, answered_scope=answered)


def _said_of_error(answer: Mapping[str, Any]) -> dict[str, str]:
    """What a provider says of an error, for the operator (RFC 6749, sections 4.1.2.1 and 5.2)."""
    found = {"error": answer.get("error"), "description": answer.get("error_description")}
    return {name: excerpt(text) for name, text in found.items() if text}


def _redeem(exchange: Exchange, endpoints: Endpoints, body: dict[str, str]) -> Tokens:
    """Redeem the code (RFC 6749, sections 4.1.3 and 2.3.1)."""
    provider = exchange.provider
    secret = provider.client_secret.reveal()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    if endpoints.basic:
        pair = f"{quote_plus(provider.client_id)}:{quote_plus(secret)}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    else:
        body |= {"client_id": provider.client_id, "client_secret": secret}
    answer = exchange.post(endpoints.token, headers, urlencode(body).encode())
    if "error" in answer:
        rejected = answer["error"] in ("invalid_grant", "bad_verification_code")
        failure = ProviderFailure.CODE if rejected else ProviderFailure.TOKEN
        raise ProviderRefused(failure, provider, details=_said_of_error(answer))
    access_token = text_in(answer, "access_token") or ""
    if not (access_token.isascii() and access_token.isprintable() and access_token.strip()):
        raise ProviderRefused(ProviderFailure.ACCESS_TOKEN, provider)
    return Tokens(text_in(answer, "id_token") or "", access_token, text_in(answer, "scope"))


def _person(exchange: Exchange, endpoints: Endpoints, tokens: Tokens, nonce: str) -> Person:
    discovery = endpoints.discovery
    if discovery is None:
        return github_person(exchange, tokens.access_token)
    claims = verified_claims(exchange, discovery, tokens, nonce)
    profile = {}
    if discovery.userinfo_endpoint:
        profile = exchange.profile(discovery.userinfo_endpoint, tokens.access_token)
        if not isinstance(profile, dict):
            cause = "the userinfo endpoint refused the access token, or has no JSON object"
            raise ProviderRefused(ProviderFailure.PROFILE, exchange.provider, cause=cause)
        if profile.get("sub") != claims["sub"]:  # section 5.3.2
            failure = subject_failure(profile.get("sub"))
            if failure is not ProviderFailure.SUBJECT_TYPE:
                failure = ProviderFailure.PROFILE_SUBJECT
            raise ProviderRefused(
                failure, exchange.provider, subject=claims["sub"], cause="in the profile (userinfo)"
            )
    return person_of(exchange.provider, claims, profile)
