"""Parsers of the values in ``authsite.providers.<name>.<key>``, and what a provider must have."""

import re
from collections.abc import Callable
from typing import Literal, TypeVar

from .secret import Secret
from .urls import host_of, is_loopback, web_url
from .values import one_of, printable

W = TypeVar("W", bound=str)

NAME = "[a-z0-9]{1,32}"
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PARAMETER = re.compile(r"[A-Za-z0-9._~-]{1,100}")
LONGEST_ISSUER = 200  # characters: a tenant id may come in addition (`Identity.issuer` has 255)
SENT = frozenset(
    (
        *("response_type", "client_id", "redirect_uri", "scope", "state", "nonce"),
        *("code_challenge", "code_challenge_method", "login_hint", "prompt", "max_age"),
    )
)
"""The parameters of an authorization request that authsite sends itself."""


def names(text: str) -> tuple[str, ...]:
    """The names of providers, in the order of their buttons."""
    found = text.split()
    if wrong := [each for each in found if not re.fullmatch(NAME, each)]:
        raise ValueError(
            "give names of at most 32 characters a-z and 0-9, separated by spaces, such as google"
            f" corp; {wrong[0]!r} is none"
        )
    return tuple(dict.fromkeys(found))


def preset(*presets: W) -> Callable[[str], W]:
    """A parser of one of ``presets``."""
    return one_of(*presets, message=f"give {', '.join(presets[:-1])} or {presets[-1]}")


link: Callable[[str], Literal["ask", "off"]] = one_of("ask", "off", message="give ask or off")


def client_secret(text: str) -> Secret:
    """The secret that a provider gave: it decides how strong it is."""
    return Secret(printable(4096)(text))


def issuer(text: str) -> str:
    """The URL of a provider, unchanged: it is compared character by character.

    Without query and fragment (OpenID Connect Core 1.0, section 2, ``iss``).
    """
    message = "give the URL of the provider, such as https://idp.example.org, without a query"
    try:
        web_url(text)
        secure = text.startswith("https://") or is_loopback(host_of(text))
    except ValueError:
        raise ValueError(message) from None
    if "?" in text:
        raise ValueError(message)
    if len(text) > LONGEST_ISSUER:
        raise ValueError(f"give a URL of at most {LONGEST_ISSUER} characters")
    if not secure:
        raise ValueError(
            "give a URL that begins with https://; http is for a provider on this machine (such as"
            " http://localhost:8080) alone"
        )
    return text


def tenants(text: str) -> tuple[str, ...]:
    """Tenant ids of Microsoft Entra, or ``*`` alone."""
    found = tuple(dict.fromkeys(text.lower().split()))
    if found != ("*",) and not all(map(_GUID.fullmatch, found)):
        raise ValueError(
            "give tenant ids such as 8eaef023-2b34-4da1-9baa-8bc8c9d6a490 (Entra admin center,"
            " Overview), separated by spaces, or * alone for all"
        )
    return found


def extra(text: str) -> tuple[tuple[str, str], ...]:
    """Further parameters of the authorization request: ``name=value``, separated by spaces."""
    found: dict[str, str] = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals or not _PARAMETER.fullmatch(name) or not value.isprintable():
            raise ValueError(
                f"give name=value, separated by spaces, such as hd=corp.example; {word!r} is none"
            )
        if name in SENT:
            raise ValueError(f"give no {name}: authsite sends it itself")
        if name in found:
            raise ValueError(f"give {name} once")
        found[name] = value
    return tuple(found.items())
