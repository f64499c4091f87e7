"""The checks of an ID token (OpenID Connect Core 1.0, sections 3.1.3.7 and 3.1.3.8)."""

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from authsite.platform.audit.excerpts import excerpt
from authsite.platform.runtime import clock
from authsite.platform.settings.sections.providers import Provider

from .documents import Discovery, Keys, documents_of, issuer_failure
from .exchange import Exchange, seconds_in, text_in
from .failures import ProviderFailure, ProviderRefused

LONGEST = 8 * 1024  # characters
AHEAD = 60  # seconds that the provider's clock may be ahead of ours
LONGEST_SUBJECT = 255  # characters
_KEY_TYPES = {"RS256": "RSA", "PS256": "RSA", "ES256": "EC"}


class Tokens(NamedTuple):
    """What the token endpoint has issued; ``scope`` as it says, None if it does not."""

    id_token: str
    access_token: str
    scope: str | None = None


def verified_claims(
    exchange: Exchange, discovery: Discovery, tokens: Tokens, nonce: str
) -> dict[str, Any]:
    """The claims of the ID token, after all checks. Raises `ProviderRefused`."""
    claims = _signed_claims(exchange, discovery, tokens.id_token)
    failure = _failure(exchange.provider, claims)
    if failure is None and claims.get("nonce") is None:
        failure = ProviderFailure.NONCE_MISSING
    if failure is None and not _same(claims.get("nonce"), nonce):
        failure = ProviderFailure.NONCE
    hashed = claims.get("at_hash", _half_hash(tokens.access_token))
    if failure is None and not _same(hashed, _half_hash(tokens.access_token)):
        failure = ProviderFailure.AT_HASH
    if failure:
        raise ProviderRefused(
            failure,
            exchange.provider,
            subject=text_in(claims, "sub"),
            details=_compared(exchange.provider, claims, failure),
        )
    return claims


def usable_subject(text: str | None) -> bool:
    """Whether a subject is printable and short enough (OpenID Connect Core 1.0, section 2)."""
    return bool(text) and len(text or "") <= LONGEST_SUBJECT and (text or "").isprintable()


def subject_failure(subject: object) -> ProviderFailure | None:
    """Why a ``sub`` cannot be used; None if it can."""
    if isinstance(subject, str) or subject is None:
        return None if usable_subject(subject) else ProviderFailure.SUBJECT
    return ProviderFailure.SUBJECT_TYPE


def _failure(provider: Provider, claims: Mapping[str, Any]) -> ProviderFailure | None:
    now = clock.now().timestamp()
    expires, issued = seconds_in(claims, "exp"), seconds_in(claims, "iat")
    begins = seconds_in(claims, "nbf")
    if not _is_for(claims, provider.client_id):
        return ProviderFailure.AUDIENCE
    if expires is None or expires <= now:
        return ProviderFailure.EXPIRED
    if issued is None or issued > now + AHEAD:
        return ProviderFailure.ISSUED_AT
    if "nbf" in claims and (begins is None or begins > now + AHEAD):
        return ProviderFailure.NOT_BEFORE
    if failure := subject_failure(claims.get("sub")):
        return failure
    # At the end: a directory that is not allowed is only named for a token that is right.
    return issuer_failure(provider, claims)


def _compared(
    provider: Provider, claims: Mapping[str, Any], failure: ProviderFailure
) -> dict[str, str]:
    """What the ID token says, and what it should: the details of an event."""
    names, expected = {
        ProviderFailure.AUDIENCE: (("aud", "azp"), provider.client_id),
        ProviderFailure.EXPIRED: (("exp",), ""),
        ProviderFailure.ISSUED_AT: (("iat",), ""),
        ProviderFailure.ISSUER: (("iss",), provider.announced_issuer),
        ProviderFailure.NOT_BEFORE: (("nbf",), ""),
        ProviderFailure.TENANT: (("tid",), " ".join(provider.tenants)),
    }.get(failure, ((), ""))
    if not names:
        return {}
    sent = ", ".join(f"{name}={excerpt(claims[name], 200)}" for name in names if name in claims)
    now = expected or f"our clock: {int(clock.now().timestamp())}"
    return {"sent": sent or f"no {names[0]}", "expected": excerpt(now)}


def _is_for(claims: Mapping[str, Any], client_id: str) -> bool:
    audience = claims.get("aud")
    several = audience if isinstance(audience, list) else [audience]
    party = claims.get("azp", client_id if len(several) == 1 else None)
    return client_id in several and party == client_id


def is_id_token_type(typ: object) -> bool:
    """Whether a header's ``typ`` may be that of an ID token: none, or "JWT" in any case.

    Access tokens, logout tokens and others of the same issuer name their own (RFC 8725, section
    3.11).
    """
    if typ is None:
        return True
    return isinstance(typ, str) and typ.lower().removeprefix("application/") == "jwt"


def _signed_claims(exchange: Exchange, discovery: Discovery, token: str) -> dict[str, Any]:
    """The claims of a token with a right signature, by an algorithm and a key of the provider."""
    from joserfc import jws
    from joserfc.errors import JoseError
    from joserfc.jwk import import_key

    provider = exchange.provider
    if len(token) > LONGEST or not token.isascii():
        raise ProviderRefused(ProviderFailure.ID_TOKEN, provider)
    try:
        parsed = jws.extract_compact(token.encode())
        header = parsed.headers()
        claims = json.loads(parsed.payload)
    except (JoseError, ValueError, RecursionError) as error:
        raise ProviderRefused(ProviderFailure.ID_TOKEN, provider) from error
    # We support no extension, so a critical one makes the token invalid (RFC 7515, 4.1.11).
    if not isinstance(header, dict) or not isinstance(claims, dict) or "crit" in header:
        raise ProviderRefused(ProviderFailure.ID_TOKEN, provider)
    if not is_id_token_type(header.get("typ")):
        details = {"sent": excerpt(header["typ"], 100), "expected": "JWT"}
        raise ProviderRefused(ProviderFailure.TOKEN_TYPE, provider, details=details)
    algorithm = header["alg"]
    if algorithm not in discovery.algorithms:
        details = {"sent": excerpt(algorithm, 100), "expected": " ".join(discovery.algorithms)}
        raise ProviderRefused(ProviderFailure.ALGORITHM, provider, details=details)
    key = _key_for(exchange, discovery.jwks_uri, header)
    if key is None:
        raise ProviderRefused(ProviderFailure.KEY, provider)
    registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    try:
        right = jws.validate_compact(parsed, import_key(dict(key)), registry=registry)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise ProviderRefused(ProviderFailure.KEY, provider) from error
    if not right:
        raise ProviderRefused(ProviderFailure.SIGNATURE, provider)
    return claims


def _key_for(exchange: Exchange, url: str, header: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The key with the ``kid`` of the token; without one the only key there is."""
    documents = documents_of(exchange.services, exchange.provider)
    found = _matching(documents.keys(exchange, url), header)
    if found is None and "kid" in header:
        found = _matching(documents.newer_keys(exchange, url), header)
    return found


def _matching(keys: Keys, header: Mapping[str, Any]) -> Mapping[str, Any] | None:
    key_type = _KEY_TYPES[header["alg"]]
    if "kid" in header:
        keys = [key for key in keys if key.get("kid") == header["kid"]]
    elif len(keys) != 1:
        return None
    return next((key for key in keys if key.get("kty") == key_type), None)


def _half_hash(access_token: str) -> str:
    """The ``at_hash`` of a token, whose algorithms all end with 256 (section 3.1.3.6)."""
    return urlsafe_b64encode(sha256(access_token.encode()).digest()[:16]).rstrip(b"=").decode()


def _same(value: object, expected: str) -> bool:
    given = value.encode(errors="replace") if isinstance(value, str) else b""
    return hmac.compare_digest(given, expected.encode())
