"""Parsers of the settings about clients that no administrator has registered."""

from typing import Literal

from .urls import host_name
from .values import ACCOUNT, OIDC_SCOPES, is_admin, scope

ALL_HOSTS = "*"


def registration(text: str) -> Literal["off", "open"]:
    """Whether clients may register themselves."""
    if text == "off":
        return "off"
    if text == "open":
        return "open"
    raise ValueError("give off or open")


def document_hosts(text: str) -> tuple[str, ...]:
    """The hosts whose documents describe clients: none for ``off``, `ALL_HOSTS` alone for all."""
    words = tuple(dict.fromkeys(text.lower().split()))
    if not words:
        raise ValueError("give off, * or hosts such as claude.ai app.example.com")
    if words == ("off",):
        return ()
    if ALL_HOSTS in words or "off" in words:
        if len(words) > 1:
            raise ValueError("give off or * alone, or hosts such as claude.ai app.example.com")
        return words
    try:
        return tuple(host_name(word) for word in words)
    except ValueError:
        raise ValueError(
            "give hosts without scheme, port and path, such as claude.ai app.example.com"
        ) from None


def unverified_scope(text: str) -> str:
    """The name of a scope that a client may have which no administrator has registered."""
    if text in OIDC_SCOPES:
        raise ValueError(f"give other scopes: every such client may ask for {text}")
    if is_admin(text) or text == ACCOUNT:
        raise ValueError(f"give other scopes: {text} is for clients that you register yourself")
    return scope(text)
