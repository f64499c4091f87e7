"""Sign JSON Web Tokens, and read those that come back.

ID tokens (OpenID Connect Core 1.0, section 2) and access tokens that a resource checks itself (RFC
9068) have the same keys. The ``typ`` in the header tells one from the other.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import chain
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

import structlog

from authsite.oauth.scopes import OPENID
from authsite.oauth.tokens.format import TokenPair
from authsite.platform.context import Context, Services
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock
from authsite.users import account as levels
from authsite.users.account import Account
from authsite.users.groups import labels

from .availability import is_on
from .errors import NotOurIdToken
from .keys import ring
from .keys.ring import ring_of, signer_in
from .keys.stored import ALGORITHMS, StoredKey, read_key

# The issuer identifier of this service (OpenID Connect Core 1.0, section 2).


def issuer_of(services: Services) -> str:
    """The issuer: the first of the addresses in setting `base-url`, whichever a request came to.

    Raises `LookupError` if none is set; then OpenID Connect is off.
    """
    if not services.settings.base_url:
        raise LookupError("there is no issuer: set base-url to the address of this service")
    return services.settings.base_url[0]


LONGEST = 8 * 1024  # characters of a token that is read
TYPE = "JWT"
ACCESS_TYPE = "at+jwt"  # RFC 9068, section 2.1


def sign(ctx: Context, claims: Mapping[str, Any], alg: str, typ: str = TYPE) -> str:
    """A token of ``claims``, signed with one of `ALGORITHMS`.

    Adds nothing but the header; a claim without a value is left out. Raises `SigningUnavailable`,
    and SQLAlchemy's errors.
    """
    from joserfc import jwt

    key = signer_in(ring_of(ctx.services).keys(ctx.services), alg)
    header = {"typ": typ, "alg": alg, "kid": key.stored.kid}
    present = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(header, present, key.signer, algorithms=[alg])  # type: ignore[arg-type]


def claims_of(ctx: Context, hint: str) -> dict[str, Any]:
    """The claims of an ID token that this service has signed, within the last year.

    It may have expired: it only says whom a client means. Raises `NotOurIdToken`, and SQLAlchemy's
    errors.
    """
    return read(ctx.services, hint, TYPE)


def read(services: Services, hint: str, typ: str) -> dict[str, Any]:
    """The claims of a token of this type that this service has signed, also one that has expired.

    Raises `NotOurIdToken`, and SQLAlchemy's errors.
    """
    from joserfc import jws
    from joserfc.errors import JoseError

    if len(hint) > LONGEST or not hint.isascii():
        raise NotOurIdToken("too long, or not ASCII")
    try:
        parsed = jws.extract_compact(hint.encode())
        header, claims = parsed.headers(), json.loads(parsed.payload)
    except (JoseError, ValueError, RecursionError) as error:
        raise NotOurIdToken("not a signed token") from error
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise NotOurIdToken("not a signed token")
    key = _key(services, header, typ)
    registry = jws.JWSRegistry(algorithms=[key.alg])
    try:
        right = jws.validate_compact(parsed, read_key(key.public), registry=registry)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise NotOurIdToken("not a signed token") from error
    if not right or claims.get("iss") != issuer_of(services):
        raise NotOurIdToken("signed by someone else")
    return claims


def _key(services: Services, header: Mapping[str, Any], typ: str) -> StoredKey:
    """The key that the header names. Raises `NotOurIdToken`."""
    kid, alg = header.get("kid"), header.get("alg")
    if header.get("typ") != typ or "crit" in header or alg not in ALGORITHMS:
        raise NotOurIdToken(f"not a token of type {typ}")
    ring, now = ring_of(services), clock.now()
    if isinstance(kid, str):
        found = ring.keys(services).find(kid, now)
        found = found or ring.newer_keys(services).find(kid, now)
        if found and found.alg == alg:
            return found
    raise NotOurIdToken("signed with an unknown key")


# The claims about a user (OpenID Connect Core 1.0, section 5.1), and those that others add.
#
# A claim without a value is left out. An e-mail address is only shown while it is confirmed: an
# application takes the address for the person.


log = structlog.get_logger("authsite.oauth")

AddClaims = Callable[[Context, Account, Collection[str]], Mapping[str, Any]]
ADDED_CLAIMS = Registered[AddClaims]("functions that add claims")
ID_TOKEN_CLAIMS: Final = (
    *("iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "at_hash", "sid"),
)
"""The claims of every ID token, as far as they have a value (section 2)."""
CLAIMS_OF_SCOPE: Final[Mapping[str, tuple[str, ...]]] = {
    "profile": ("name", "preferred_username", "nickname", "locale", "updated_at"),
    "email": ("email", "email_verified"),
    "phone": ("phone_number", "phone_number_verified"),
    "groups": ("groups",),
}
"""The claims about a user that come with a scope (section 5.4)."""
OWN_CLAIMS: Final = frozenset(
    [*ID_TOKEN_CLAIMS, "nbf", "jti", "azp", "c_hash", *chain(*CLAIMS_OF_SCOPE.values())]
)
"""The claims that only this module and the ID token set."""


def user_claims(
    ctx: Context, account: Account, scopes: Collection[str], acr: str | None = None
) -> dict[str, Any]:
    """What an application with these ``scopes`` learns of a user, without ``sub``.

    ``acr``: of the sign-in, for groups that ask for one.
    """
    found = _added(ctx, account, scopes)
    names = ctx.settings.login_identifiers
    username = account.username if "username" in names else None
    if "profile" in scopes:
        confirmed = account.email if account.confirmed else None
        found["name"] = account.name or None
        found["preferred_username"] = username or confirmed
        found["nickname"] = username
        found["locale"] = account.language and account.language.replace("_", "-")
        found["updated_at"] = int(account.updated_at.timestamp())
    if "email" in scopes and account.confirmed:
        found["email"], found["email_verified"] = account.email, True
    if "phone" in scopes and "phone" in names and account.phone:
        found["phone_number"], found["phone_number_verified"] = account.phone, False
    if "groups" in scopes:
        found["groups"] = list(labels.shown_to_others(account.labels, acr, ctx.settings))
    return {name: value for name, value in found.items() if value is not None}


def _added(ctx: Context, account: Account, scopes: Collection[str]) -> dict[str, Any]:
    """The claims of `config.add_claims`, of which none replaces one of ours."""
    found: dict[str, Any] = {}
    for add in ADDED_CLAIMS.of(ctx.services).values():
        found.update(add(ctx, account, scopes))
    for name in OWN_CLAIMS & found.keys():
        log.warning("claim_ignored", claim=name, why="authsite sets it: give it another name")
        del found[name]
    return found


# The ID token about a sign-in (OpenID Connect Core 1.0, sections 2 and 12.2).
#
# What it says of the sign-in comes from the code, and at a refresh from the token family; only
# the times of the token itself are new.


RS256 = "RS256"  # the default of OpenID Connect Dynamic Client Registration 1.0, section 2


class TokenTerms(Protocol):
    """What of a client decides about its ID tokens; see `Client`."""

    @property
    def id_token_alg(self) -> str | None: ...
    @property
    def id_token_lifetime(self) -> int | None: ...
    @property
    def claims_in_id_token(self) -> bool: ...


class SignIn(NamedTuple):
    """How a user has signed in to a client. ``session_id``: the browser session.

    ``client_id``: the id that the client has sent, for which the ID token is. ``ends_at``: when
    nothing that comes from the sign-in may last any longer; None for no such bound.
    """

    client_id: str
    account: Account
    session_id: UUID
    auth_at: datetime
    amr: tuple[str, ...]
    ends_at: datetime | None
    nonce: str | None = None


@dataclass(frozen=True, slots=True)
class Signer:
    """Makes the ID tokens of one client; ``terms`` is None where none is asked for."""

    ctx: Context
    terms: TokenTerms | None

    def with_id_token(self, pair: TokenPair, sign_in: SignIn) -> TokenPair:
        """``pair`` with an ID token, if its scope has ``openid``."""
        scopes = pair.scope.split()
        if self.terms is None or OPENID not in scopes:
            return pair
        claims = _claims(self.ctx, self.terms, sign_in, pair.access_token)
        if self.terms.claims_in_id_token:
            acr = levels.acr_of(sign_in.amr)
            claims = {**user_claims(self.ctx, sign_in.account, scopes, acr), **claims}
        text = sign(self.ctx, claims, self.terms.id_token_alg or RS256)
        return replace(pair, id_token=text)


def signer_for(ctx: Context, terms: TokenTerms, scope: str) -> Signer:
    """The signer for tokens with at most this ``scope``.

    Ask for it before a code is used up. With `openid` off it makes none. Raises
    `SigningUnavailable` if no key can sign.
    """
    if OPENID not in scope.split() or not is_on(ctx.services):
        return Signer(ctx, None)
    ring.require_signers(ctx, terms.id_token_alg or RS256)
    return Signer(ctx, terms)


def _claims(
    ctx: Context, terms: TokenTerms, sign_in: SignIn, access_token: str
) -> Mapping[str, Any]:
    now = clock.now()
    lifetime = ctx.settings.id_token_expires_in
    if terms.id_token_lifetime is not None:
        lifetime = timedelta(seconds=terms.id_token_lifetime)
    proved = levels.proved_at(sign_in.amr, sign_in.auth_at)
    expires_at = now + lifetime
    claims = {
        "iss": issuer_of(ctx.services),
        "sub": str(sign_in.account.id),
        "aud": sign_in.client_id,
        "exp": int(min(expires_at, sign_in.ends_at or expires_at).timestamp()),
        "iat": int(now.timestamp()),
        "auth_time": proved and int(proved.timestamp()),
        "nonce": sign_in.nonce,
        "acr": levels.acr_of(sign_in.amr),
        "amr": levels.shown_amr(sign_in.amr) or None,
        "at_hash": at_hash(access_token),
        "sid": str(sign_in.session_id),
    }
    return {name: value for name, value in claims.items() if value is not None}


def at_hash(access_token: str) -> str:
    """The left half of the SHA-256 of an access token (section 3.1.3.6), for RS256 and ES256."""
    return urlsafe_b64encode(sha256(access_token.encode()).digest()[:16]).decode().rstrip("=")
