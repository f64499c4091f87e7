"""Parsers of the settings about clients that no administrator has registered."""

from typing import Literal

from .urls import host_name

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
