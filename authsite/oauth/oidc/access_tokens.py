"""Access tokens that a resource checks itself: JSON Web Tokens (RFC 9068).

Each is one more form of an access token of a family, and ``jti`` names family and generation. So
what authsite itself is asked about it, at introspection and at a revocation, is decided by the row
of the family, as for every other token. A resource that checks the signature alone learns of a
revocation when the token expires.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from authsite.oauth.models import JWT
from authsite.oauth.resources import RegisteredResource
from authsite.oauth.tokens.format import BearerToken, Generation, Token, TokenPair, decode_bearer
from authsite.platform.context import Context, Services
from authsite.platform.runtime import clock
from authsite.users import account as levels
from authsite.users.account import Account
from authsite.users.groups import labels

from . import id_tokens
from .availability import is_on
from .errors import NotOurIdToken
from .id_tokens import issuer_of
from .keys import ring

RS256 = "RS256"  # every resource must know it (section 2.1); the same token is the same text
GROUPS = "groups"
_FIRST_LETTERS = "eyJ"  # of a header, which is a JSON object in base64url


class Holder(NamedTuple):
    """Whom a token acts for: the user of a sign-in, or the client itself (``account`` None).

    ``client_url``: the URL that is the id of a client which a document describes.
    """

    client_id: UUID
    account: Account | None = None
    amr: tuple[str, ...] = ()
    auth_at: datetime | None = None
    client_url: str | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """The form of the access tokens for a resource; ``audience`` is None for opaque ones."""

    ctx: Context
    audience: str | None = None

    def of(self, pair: TokenPair, generation: Generation, holder: Holder) -> TokenPair:
        """``pair`` with its access token in this form; it never expires later than before."""
        if self.audience is None:
            return pair
        now, issued = int(clock.now().timestamp()), int(generation.rotated_at.timestamp())
        lifetime = int(self.ctx.settings.jwt_expires_in.total_seconds())
        expires = min(now + pair.expires_in, issued + lifetime)
        claims = _claims(self.ctx, self.audience, pair.scope, holder)
        claims |= {
            "iat": issued,
            "exp": expires,
            "jti": f"{generation.family_id}.{generation.number}",
        }
        text = id_tokens.sign(self.ctx, claims, RS256, id_tokens.ACCESS_TYPE)
        return replace(pair, access_token=text, expires_in=max(0, expires - now))


def form_for(ctx: Context, resource: RegisteredResource | None) -> Form:
    """The form of access tokens for a resource, or for none.

    Ask for it before anything is written. With `openid` off they are opaque, since no key is
    published. Raises `SigningUnavailable` if no key can sign.
    """
    if resource is None or resource.tokens != JWT or not is_on(ctx.services):
        return Form(ctx)
    ring.require_signers(ctx, RS256)
    return Form(ctx, resource.uri)


def is_jwt(text: str) -> bool:
    """Whether an access token of ours is a JSON Web Token, by its first letters."""
    return text.startswith(_FIRST_LETTERS)


def decode(services: Services, text: str) -> Token | None:
    """The access token in ``text``, also one that has expired; None if it is not one of ours."""
    if not is_jwt(text) or not is_on(services):
        return None
    try:
        claims = id_tokens.read(services, text, id_tokens.ACCESS_TYPE)
        family_id, _dot, number = claims["jti"].partition(".")
        return Token(UUID(family_id), int(number), int(claims["exp"]))
    except (NotOurIdToken, AttributeError, KeyError, TypeError, ValueError):
        return None


def decode_any(services: Services, text: str, now: datetime) -> BearerToken | None:
    """The access token or personal access token in ``text``; None if forged or expired."""
    if not is_jwt(text):
        return decode_bearer(services.keys, text, now)
    token = decode(services, text)
    return token if token and token.expires > now.timestamp() else None


def _claims(ctx: Context, audience: str, scope: str, holder: Holder) -> dict[str, Any]:
    """The claims of section 2.2 but the times; ``amr`` and ``acr`` are those of the sign-in."""
    claims: Mapping[str, Any] = {
        "iss": issuer_of(ctx.services),
        "aud": audience,
        "client_id": holder.client_url or str(holder.client_id),
        "sub": str(holder.client_id),
        "scope": scope or None,
    }
    if holder.account is None:
        return dict(claims)
    acr = levels.acr_of(holder.amr)
    proved = levels.proved_at(holder.amr, holder.auth_at) if holder.auth_at else None
    of_user = {
        "sub": str(holder.account.id),
        "auth_time": proved and int(proved.timestamp()),
        "acr": acr,
        "amr": list(levels.shown_amr(holder.amr)) or None,
    }
    if GROUPS in scope.split():
        of_user["groups"] = list(labels.shown_to_others(holder.account.labels, acr, ctx.settings))
    return {**claims, **of_user}
