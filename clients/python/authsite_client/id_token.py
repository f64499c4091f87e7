"""The claims of an ID token (OpenID Connect Core 1.0, sections 2 and 3.1.3.7)."""

import json
from base64 import urlsafe_b64decode
from typing import Any, NamedTuple

from . import clock
from .errors import LoginFailed
from .numbers import is_seconds

LEEWAY = 60  # seconds between two clocks


class Expected(NamedTuple):
    """What an ID token must say; ``max_age`` is what the request asked for, in seconds."""

    issuer: str
    client_id: str
    nonce: str
    max_age: int | None = None


def claims_without_signature(id_token: str) -> dict[str, Any]:
    """The claims of a token in the compact form of a JWS (RFC 7515, section 7.1).

    Raises `LoginFailed`.
    """
    try:
        _, payload, _ = id_token.split(".")
        claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, RecursionError) as error:
        raise invalid("it is not a signed token") from error
    if not isinstance(claims, dict):
        raise invalid("its claims are not an object")
    return claims


def check_claims(claims: dict[str, Any], expected: Expected) -> dict[str, Any]:
    """``claims`` of an ID token for this sign-in. Raises `LoginFailed`.

    Section 3.1.3.7, numbers 2 to 5, 9, 11 and 13.
    """
    now = clock.time()
    audience = claims.get("aud")
    if claims.get("iss") != expected.issuer:
        raise invalid("its issuer is another one")
    if audience not in (expected.client_id, [expected.client_id]):
        raise invalid("it is for another application")
    if claims.get("azp", expected.client_id) != expected.client_id:
        raise invalid("it was issued to another application")
    if not is_seconds(claims.get("exp")) or claims["exp"] <= now - LEEWAY:
        raise invalid("it has expired")
    if not is_seconds(claims.get("iat")) or claims["iat"] > now + LEEWAY:
        raise invalid("it is from the future: compare the clocks of both machines")
    if claims.get("nonce") != expected.nonce:
        raise invalid("it belongs to another sign-in")
    if not isinstance(claims.get("sub"), str) or not claims["sub"]:
        raise invalid("it names no user")
    if expected.max_age is not None:
        at = claims.get("auth_time")
        if not is_seconds(at) or at < now - expected.max_age - LEEWAY:
            raise invalid("the user signed in too long ago")
    return claims


def invalid(reason: str) -> LoginFailed:
    """The exception for an ID token that ``reason`` speaks against."""
    return LoginFailed("invalid_id_token", f"The ID token was not accepted: {reason}.")
