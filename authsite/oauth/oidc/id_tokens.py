"""Sign ID tokens, and read those that come back (OpenID Connect Core 1.0, section 2)."""

import json
from collections.abc import Mapping
from typing import Any

from authsite.context import Context
from authsite.platform.runtime import clock

from .errors import NotOurIdToken
from .issuer import issuer_of
from .keys.pairs import ALGORITHMS, read_key
from .keys.ring import ring_of, signer_in
from .keys.stored import StoredKey

LONGEST = 8 * 1024  # characters of a token that is read
TYPE = "JWT"  # never "at+jwt", which is an access token (RFC 9068)


def sign(ctx: Context, claims: Mapping[str, Any], alg: str) -> str:
    """An ID token of ``claims``, signed with one of `ALGORITHMS`.

    Adds nothing but the header; a claim without a value is left out. Raises `SigningUnavailable`,
    and SQLAlchemy's errors.
    """
    from joserfc import jwt

    key = signer_in(ring_of(ctx.services).keys(ctx.services), alg)
    header = {"typ": TYPE, "alg": alg, "kid": key.stored.kid}
    present = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(header, present, key.signer, algorithms=[alg])  # type: ignore[arg-type]


def claims_of(ctx: Context, hint: str) -> dict[str, Any]:
    """The claims of an ID token that this service has signed, within the last year.

    It may have expired: it only says whom a client means. Raises `NotOurIdToken`, and SQLAlchemy's
    errors.
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
    key = _key(ctx, header)
    registry = jws.JWSRegistry(algorithms=[key.alg])
    try:
        right = jws.validate_compact(parsed, read_key(key.public), registry=registry)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise NotOurIdToken("not a signed token") from error
    if not right or claims.get("iss") != issuer_of(ctx.services):
        raise NotOurIdToken("signed by someone else")
    return claims


def _key(ctx: Context, header: Mapping[str, Any]) -> StoredKey:
    """The key that the header names. Raises `NotOurIdToken`."""
    kid, alg = header.get("kid"), header.get("alg")
    if header.get("typ") != TYPE or "crit" in header or alg not in ALGORITHMS:
        raise NotOurIdToken("not an ID token")
    ring, now = ring_of(ctx.services), clock.now()
    if isinstance(kid, str):
        found = ring.keys(ctx.services).find(kid, now)
        found = found or ring.newer_keys(ctx.services).find(kid, now)
        if found and found.alg == alg:
            return found
    raise NotOurIdToken("signed with an unknown key")
