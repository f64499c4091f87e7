"""Sign JSON Web Tokens, and read those that come back.

ID tokens (OpenID Connect Core 1.0, section 2) and access tokens that a resource checks itself (RFC
9068) have the same keys. The ``typ`` in the header tells one from the other.
"""

import json
from collections.abc import Mapping
from typing import Any

from authsite.platform.context import Context, Services
from authsite.platform.runtime import clock

from .errors import NotOurIdToken
from .issuer import issuer_of
from .keys.pairs import ALGORITHMS, read_key
from .keys.ring import ring_of, signer_in
from .keys.stored import StoredKey

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
