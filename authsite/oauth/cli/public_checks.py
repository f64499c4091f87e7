"""What an application sees of this service at its public address."""

import json
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any

from authsite.oauth.oidc.keys.inspection import inspect
from authsite.platform.context import Services
from authsite.platform.finding import Finding
from authsite.platform.http import outbound
from authsite.platform.http.outbound import Answer
from authsite.platform.runtime import clock

DISCOVERY = "/.well-known/openid-configuration"
LIMIT = 64 * 1024  # bytes of a document
SKEW = 30  # seconds between two clocks


def public_findings(
    services: Services, issuer: str, alg: str, origin: str | None
) -> Iterator[Finding]:
    """Metadata, clock and keys, and with an ``origin`` CORS; ``alg`` is the client's."""
    try:
        answer = _get(services, f"{issuer}{DISCOVERY}", origin)
        metadata = _object(answer)
    except (outbound.Unreachable, ValueError) as error:
        message = (
            f"{issuer}{DISCOVERY} cannot be read from this machine: {error}. Check base-url, the "
            "name server, the certificate and the proxy (docs/production.md)"
        )
        yield Finding("wrong", "discovery", message)
        return
    yield _discovery(metadata, issuer)
    yield _clock(answer)
    yield from _keys(services, str(metadata.get("jwks_uri")), alg)
    if origin:
        yield from _cors(services, answer, str(metadata.get("token_endpoint")), origin)


def _discovery(metadata: dict[str, Any], issuer: str) -> Finding:
    if metadata.get("issuer") != issuer:
        message = (
            f"the issuer there is {metadata.get('issuer')}, and base-url says {issuer}: the "
            "processes behind the public address have other settings than this command"
        )
        return Finding("wrong", "discovery", message)
    endpoints = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")
    missing = [name for name in endpoints if not metadata.get(name)]
    if missing:
        message = f"{', '.join(missing)} is missing: restart the processes with openid on"
        return Finding("wrong", "discovery", message)
    return Finding("ok", "discovery", f"{issuer}{DISCOVERY}")


def _clock(answer: Answer) -> Finding:
    """ID tokens of a clock that is ahead are refused as from the future."""
    try:
        there = parsedate_to_datetime(answer.headers.get("date", ""))
    except ValueError:
        return Finding("change", "clock", "the answer has no header Date: the proxy removes it")
    difference = round((there - clock.now()).total_seconds())
    if abs(difference) > SKEW:
        message = f"the clocks differ by {difference} s: set both machines by NTP"
        return Finding("wrong", "clock", message)
    return Finding("ok", "clock", f"differs by {difference} s")


def _keys(services: Services, url: str, alg: str) -> Iterator[Finding]:
    try:
        published = _object(_get(services, url, None)).get("keys") or []
    except (outbound.Unreachable, ValueError) as error:
        yield Finding("wrong", "keys", f"{url} cannot be read: {error}")
        return
    kids = {each.get("kid") for each in published if each.get("alg", alg) == alg}
    current = [each for each in inspect(services) if each.alg == alg and each.state == "current"]
    if not current or not all(each.usable for each in current):
        message = f"no key signs {alg}: see `authsite keys list` and `authsite doctor`"
        yield Finding("wrong", "keys", message)
    elif any(each.kid not in kids for each in current):
        message = (
            f"the key that signs {alg} is not published at {url}: an old copy is in a cache, or "
            "the processes there use another database"
        )
        yield Finding("wrong", "keys", message)
    else:
        yield Finding("ok", "keys", f"{alg}, {len(kids)} published")


def _cors(services: Services, read: Answer, token_url: str, origin: str) -> Iterator[Finding]:
    """Fetch Standard, section 3.2: what pages of ``origin`` may read."""
    if read.headers.get("access-control-allow-origin") != "*":
        message = "the metadata has no Access-Control-Allow-Origin: the proxy removes it"
        yield Finding("wrong", "CORS", message)
    preflight = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    try:
        answer = outbound.send(
            services, outbound.UNTRUSTED, "OPTIONS", token_url, headers=preflight, limit=LIMIT
        )
    except outbound.Unreachable as error:
        yield Finding("wrong", "CORS", f"{token_url} cannot be asked: {error}")
        return
    if answer.headers.get("access-control-allow-origin") != origin:
        message = (
            f"pages of {origin} may not call the token endpoint: give the client (type browser) "
            "`--origin`, or add it to the setting cors-origins"
        )
        yield Finding("wrong", "CORS", message)
    else:
        yield Finding("ok", "CORS", f"pages of {origin} may call the token endpoint")


def _get(services: Services, url: str, origin: str | None) -> Answer:
    headers = {"Accept": "application/json"} | ({"Origin": origin} if origin else {})
    return outbound.send(services, outbound.UNTRUSTED, "GET", url, headers=headers, limit=LIMIT)


def _object(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer. Raises ValueError."""
    if answer.status != 200:
        raise ValueError(f"the answer is {answer.status}")
    found = json.loads(answer.body)
    if not isinstance(found, dict):
        raise ValueError("the answer is not a JSON object")
    return found
