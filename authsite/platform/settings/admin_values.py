"""Parsers of the settings of administration."""

from typing import Literal
from uuid import UUID

from .values import Network, network


def level(text: str) -> Literal["aal2", "phr"]:
    """A level that administrators need."""
    if text == "aal2":
        return "aal2"
    if text == "phr":
        return "phr"
    raise ValueError("give aal2 or phr")


def networks(text: str) -> tuple[Network, ...]:
    """Addresses and networks of administrators."""
    try:
        return tuple(map(network, dict.fromkeys(text.split())))
    except ValueError as error:
        raise ValueError(
            f"give addresses or networks such as 10.0.0.0/8 2001:db8::1 ({error})"
        ) from None


def client_ids(text: str) -> tuple[str, ...]:
    """Ids of clients, as `authsite client list` shows them."""
    words = dict.fromkeys(text.split())
    try:
        return tuple(str(UUID(word)) for word in words)
    except ValueError:
        raise ValueError("give ids of clients, as `authsite client list` shows them") from None
