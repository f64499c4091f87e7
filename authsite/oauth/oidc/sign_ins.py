"""The ID token about a sign-in (OpenID Connect Core 1.0, sections 2 and 12.2).

What it says of the sign-in comes from the code, and at a refresh from the token family; only the
times of the token itself are new.
"""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from authsite.oauth.scopes import OPENID
from authsite.oauth.tokens import TokenPair
from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.users import levels
from authsite.users.account import Account

from . import id_tokens
from .availability import is_on
from .claims import user_claims
from .issuer import issuer_of
from .keys import ring

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
        text = id_tokens.sign(self.ctx, claims, self.terms.id_token_alg or RS256)
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
