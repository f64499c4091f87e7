"""The claims of an ID token (OpenID Connect Core 1.0, sections 2 and 3.1.3.7)."""

import json
from base64 import urlsafe_b64decode
from typing import Any, NamedTuple

from . import clock
from .errors import LoginFailed
from .numbers import is_seconds

LEEWAY = 60  # seconds between two clocks


LEVELS = ("aal1", "aal2", "phr")  # of ``acr``, from the lowest to the highest


class Expected(NamedTuple):
    """What an ID token must say; ``max_age`` (seconds) and ``acr_values`` are those of the request.

    They went through the browser, whose person may have removed them.
    """

    issuer: str
    client_id: str
    nonce: str
    max_age: int | None = None
    acr_values: str = ""


def claims_without_signature(id_token: str) -> dict[str, Any]:
    """The claims of a token in the compact form of a JWS (RFC 7515, section 7.1).

    Raises `LoginFailed`.
    """
    try:
        first, second, _ = id_token.split(".")
        header, payload = _decoded(first), _decoded(second)
    except (ValueError, RecursionError) as error:
        raise invalid("it is not a signed token") from error
    if not isinstance(header, dict) or not isinstance(payload, dict):
        raise invalid("its claims are not an object")
    require_id_token(header)
    return payload


def check_claims(claims: dict[str, Any], expected: Expected) -> dict[str, Any]:
    """``claims`` of an ID token for this sign-in. Raises `LoginFailed`.

    Section 3.1.3.7, numbers 2 to 5, 9, and 11 to 13.
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
    if "nbf" in claims and not (is_seconds(claims["nbf"]) and claims["nbf"] <= now + LEEWAY):
        raise invalid("it is not valid yet: compare the clocks of both machines")
    if claims.get("nonce") != expected.nonce:
        raise invalid("it belongs to another sign-in")
    if not isinstance(claims.get("sub"), str) or not claims["sub"]:
        raise invalid("it names no user")
    if expected.max_age is not None:
        at = claims.get("auth_time")
        if not is_seconds(at) or at < now - expected.max_age - LEEWAY:
            raise invalid("the user signed in too long ago")
    if not _reaches(claims.get("acr"), expected.acr_values.split()):
        raise LoginFailed(
            "unmet_authentication_requirements",
            f"The sign-in has a lower level than was asked for: {expected.acr_values}.",
        )
    return claims


def require_id_token(header: dict[str, Any]) -> None:
    """Raise `LoginFailed` for a signed token of another kind (RFC 8725, section 3.11)."""
    typ = header.get("typ", "JWT")
    if not isinstance(typ, str) or typ.lower().removeprefix("application/") != "jwt":
        raise invalid("it is a token of another kind")


def _reaches(acr: object, wanted: list[str]) -> bool:
    """Whether a level is one of those ``wanted``, or above the lowest of them, as for authsite."""
    if not wanted or acr in wanted:
        return True
    known = [LEVELS.index(each) for each in wanted if each in LEVELS]
    return bool(known) and acr in LEVELS[min(known) :]


def _decoded(part: str) -> Any:
    return json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def invalid(reason: str) -> LoginFailed:
    """The exception for an ID token that ``reason`` speaks against."""
    return LoginFailed("invalid_id_token", f"The ID token was not accepted: {reason}.")
