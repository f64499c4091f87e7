"""Parsers of plain values: from text to a typed value, or ValueError with what is accepted."""

import re
from collections.abc import Callable, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from types import MappingProxyType
from typing import Literal

Network = IPv4Network | IPv6Network
TrustedProxies = tuple[Network, ...] | tuple[Literal["*"]]

_YES = {"true", "yes", "on", "1"}
_NO = {"false", "no", "off", "0"}
_SCOPE = re.compile(r"[!#-\[\]-~]+")  # RFC 6749, section 3.3


def boolean(text: str) -> bool:
    """``true``, ``yes``, ``on``, ``1`` and their opposites."""
    word = text.lower()
    if word not in _YES | _NO:
        raise ValueError("give true or false (yes/no, on/off, 1/0)")
    return word in _YES


def integer(least: int, most: int) -> Callable[[str], int]:
    """A parser of whole numbers in that range, in ASCII digits."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise ValueError(f"give a whole number from {least} to {most}")
        return int(text)

    return parse


def line(most: int) -> Callable[[str], str]:
    """A parser of one line of at most ``most`` printable characters."""

    def parse(text: str) -> str:
        if not text.isprintable() or len(text) > most:
            raise ValueError(f"give one line of at most {most} characters")
        return text

    return parse


def variant(text: str) -> Literal["A", "B"]:
    """The variant of the specification's e-mail behaviour."""
    match text.upper():
        case "A":
            return "A"
        case "B":
            return "B"
    raise ValueError("give A (verification) or B (forced confirmation)")


def mail_driver(text: str) -> Literal["log", "smtp", "file"]:
    """How mails leave."""
    match text.lower():
        case "log" | "smtp" | "file" as driver:
            return driver
    raise ValueError("give log, smtp or file")


def mail_sender(text: str) -> Literal["thread", "none"]:
    """Whether the server's process sends the mails itself."""
    match text.lower():
        case "thread" | "none" as sender:
            return sender
    raise ValueError("give thread or none")


def identifiers(text: str) -> tuple[str, ...]:
    """What users may log in with, in the order in which it is tried."""
    names = tuple(dict.fromkeys(text.lower().split()))
    if not names or not set(names) <= {"email", "username", "phone"}:
        raise ValueError("give one or more of email, username and phone, separated by blanks")
    return names


def trusted_proxies(text: str) -> TrustedProxies:
    """Addresses and networks of the proxies in front, or ``("*",)`` for whoever connects."""
    words = text.split()
    if words == ["*"]:
        return ("*",)
    try:
        return tuple(ip_network(word) for word in dict.fromkeys(words))
    except ValueError as error:
        raise ValueError(
            "give addresses or networks such as 10.0.0.0/8 2001:db8::1, or * alone"
            f" when only the proxy can connect ({error})"
        ) from None


def scopes(text: str) -> Mapping[str, str]:
    """Lines ``name: description``, split at the first colon that a blank follows."""
    found: dict[str, str] = {}
    for row in filter(None, map(str.strip, text.splitlines())):
        name, _, description = (row + " ").partition(": ")
        name, description = name.strip(), description.strip()
        if not _SCOPE.fullmatch(name) or not description.isprintable() or name in found:
            raise ValueError(
                "give one line `name: description` for each scope, each name once and of visible"
                f" ASCII without blanks, quotes and backslashes; this line is not: {row!r}"
            )
        found[name] = description
    return MappingProxyType(found)


def color(text: str) -> str:
    """A colour in hexadecimal notation, in lower case."""
    if not re.fullmatch(r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", text):
        raise ValueError("give a colour such as #0a7 or #00aa77")
    return text.lower()


def region(text: str) -> str:
    """A country whose phone numbers may be written without +prefix (ISO 3166-1)."""
    # Not imported by those who do not use it.
    from phonenumbers import SUPPORTED_REGIONS

    if text.upper() not in SUPPORTED_REGIONS:
        raise ValueError("give the two letters of a country, such as DE or US (GB for Britain)")
    return text.upper()


def mail_address(text: str) -> str:
    """A sender: ``address`` or ``Name <address>``, one of them and on one line."""
    written = re.fullmatch(r'(?:[^<>@,;"]*<([^<>\s]+)>|([^<>\s]+))', text)
    address = (written[1] or written[2]) if written and text.isprintable() else ""
    if not re.fullmatch(r"[!#-'*+/-9=?A-Z^-~.-]{1,64}@[A-Za-z0-9._-]{1,253}", address):
        raise ValueError("give one address: noreply@example.org or My site <noreply@example.org>")
    return text
