"""Parsers of plain values: from text to a typed value, or ValueError with what is accepted."""

import re
from collections.abc import Callable, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Literal, TypeVar

from authsite.platform.runtime.catalogs import LANGUAGES
from authsite.platform.runtime.lines import NotOneLine, one_line

Network = IPv4Network | IPv6Network
_MAPPED = IPv6Network("::ffff:0:0/96")  # IPv4 addresses, written in IPv6 (RFC 4291, 2.5.5.2)
T = TypeVar("T")
W = TypeVar("W", bound=str)
TrustedProxies = tuple[Network, ...] | tuple[Literal["*"]]

_YES = {"true", "yes", "on", "1"}
_NO = {"false", "no", "off", "0"}
_FONT = re.compile(r"[A-Za-z][A-Za-z0-9 -]{0,63}")
_GENERIC_FONTS = {
    *("serif", "sans-serif", "monospace", "cursive", "system-ui"),
    *("ui-serif", "ui-sans-serif", "ui-monospace", "ui-rounded"),
}
MAX_LINE = 1024  # characters
_MAX_RADIUS = {"px": 24.0, "rem": 1.5}
_SCOPE = re.compile(r"[!#-\[\]-~]+")  # RFC 6749, section 3.3
_FOR_GROUPS = re.compile(r"(.*\S)\s+\[groups\]")
ADMIN_PREFIX = "admin:"  # of the scopes that authsite defines itself, for administrators
ACCOUNT = "account"
"""The scope with which a first-party application may call authsite's own API."""
OIDC_SCOPES = ("openid", "profile", "email", "phone", "groups", "offline_access")
"""The scopes that OpenID Connect Core and authsite define (section 5.4, and 11)."""
RESERVED_SCOPES = frozenset({ACCOUNT, *OIDC_SCOPES})
# Of browsers, systems and other protocols: none leads back to a program (RFC 8252, section 7.1).
RESERVED_SCHEMES = frozenset({
    "about", "android-app", "blob", "chrome", "chrome-extension", "cid", "content", "data", "file",
    "filesystem", "ftp", "ftps", "http", "https", "intent", "jar", "javascript", "ldap", "ldaps",
    "livescript", "mailto", "mhtml", "mocha", "moz-extension", "ms-appx", "news", "resource",
    "rtsp", "sms", "smsto", "ssh", "tel", "telnet", "urn", "vbscript", "view-source", "ws", "wss",
})  # fmt: skip


def boolean(text: str) -> bool:
    """``true``, ``yes``, ``on``, ``1``, or ``false``, ``no``, ``off``, ``0``."""
    word = text.lower()
    if word not in _YES | _NO:
        raise ValueError("give true or false (yes/no, on/off, 1/0)")
    return word in _YES


def registration(text: str) -> Literal["on", "off", "domains", "invite"]:
    """Who may register: everyone, no one, addresses of `registration-domains`, or the invited."""
    if text.lower() == "domains":
        return "domains"
    if text.lower() == "invite":
        return "invite"
    try:
        return "on" if boolean(text) else "off"
    except ValueError:
        raise ValueError("give on, off, domains or invite") from None


def integer(minimum: int, maximum: int) -> Callable[[str], int]:
    """A parser of whole numbers from ``minimum`` to ``maximum``, in ASCII digits."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not minimum <= int(text) <= maximum:
            raise ValueError(f"give a whole number from {minimum} to {maximum}")
        return int(text)

    return parse


def single_line(max_length: int) -> Callable[[str], str]:
    """A parser of one line of at most ``max_length`` characters."""

    def parse(text: str) -> str:
        try:
            line = one_line(text) or ""
        except NotOneLine as error:
            raise ValueError(f"give one line: {error}") from None
        if len(line) > max_length:
            raise ValueError(f"give one line of at most {max_length} characters")
        return line

    return parse


def printable(max_length: int) -> Callable[[str], str]:
    """A parser of at most ``max_length`` visible characters and blanks, left as they are.

    For what a program compares or opens, such as the path of a folder; `single_line` is for what
    people read.
    """

    def parse(text: str) -> str:
        if not text.isprintable() or len(text) > max_length:
            raise ValueError(f"give one line of at most {max_length} characters")
        return text

    return parse


def list_of(parse: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """A parser of values separated by spaces or line ends, without repeats, in their order."""

    def parse_all(text: str) -> tuple[T, ...]:
        return tuple(dict.fromkeys(parse(word) for word in text.split()))

    return parse_all


def one_of(*words: W, message: str) -> Callable[[str], W]:
    """A parser of one of these words, in upper or lower case."""

    def parse(text: str) -> W:
        for word in words:
            if word.lower() == text.lower():
                return word
        raise ValueError(message)

    return parse


# What an unconfirmed user may do.
variant: Callable[[str], Literal["A", "B"]] = one_of(
    "A", "B", message="give A (verification) or B (forced confirmation)"
)
# How mails are sent.
mail_driver: Callable[[str], Literal["log", "smtp", "file"]] = one_of(
    "log", "smtp", "file", message="give log, smtp or file"
)
# For which hosts browsers must use https (HTTP Strict Transport Security, RFC 6797).
hsts: Callable[[str], Literal["host", "subdomains", "off"]] = one_of(
    "host", "subdomains", "off", message="give host, subdomains or off"
)
# Whether a thread of the server sends the mails.
mail_sender: Callable[[str], Literal["thread", "none"]] = one_of(
    "thread", "none", message="give thread or none"
)


def identifiers(text: str) -> tuple[str, ...]:
    """What users may log in with, in the order in which it is tried."""
    names = tuple(dict.fromkeys(text.lower().split()))
    if not names or not set(names) <= {"email", "username", "phone"}:
        raise ValueError("give one or more of email, username and phone, separated by spaces")
    return names


def languages(text: str) -> tuple[str, ...]:
    """The languages of pages and mails, in their order; all of them by default."""
    known = {each.lower(): each for each in LANGUAGES}
    names = text.replace("-", "_").lower().split()
    if not set(names) <= known.keys():
        raise ValueError(f"give some of {', '.join(LANGUAGES)}, separated by spaces")
    return tuple(known[name] for name in dict.fromkeys(names)) or LANGUAGES


def network(text: str) -> Network:
    """A network, or an address as one; raises ValueError.

    An IPv4 one that is written in IPv6 is IPv4, as its addresses are where they enter
    (`platform.http.request_facts.canonical`).
    """
    parsed = ip_network(text)
    if isinstance(parsed, IPv4Network) or not parsed.subnet_of(_MAPPED):
        return parsed
    return IPv4Network((parsed.network_address.packed[-4:], parsed.prefixlen - _MAPPED.prefixlen))


def trusted_proxies(text: str) -> TrustedProxies:
    """Addresses and networks of the proxies in front, or ``("*",)`` for every peer."""
    words = text.split()
    if words == ["*"]:
        return ("*",)
    try:
        networks = tuple(map(network, dict.fromkeys(words)))
        if unlimited := [str(each) for each in networks if each.prefixlen == 0]:
            # Every peer would count as a proxy, so a client could claim any address.
            raise ValueError(f"{unlimited[0]} contains every address")
        return networks
    except ValueError as error:
        raise ValueError(
            "give addresses or networks such as 10.0.0.0/8 2001:db8::1, or * alone"
            f" when only the proxy can connect ({error})"
        ) from None


def scope(text: str) -> str:
    """The name of one scope."""
    if not _SCOPE.fullmatch(text):
        raise ValueError("give names of scopes: visible ASCII without quotes and backslashes")
    return text


def personal_token_scope(text: str) -> str:
    """The name of a scope that a personal access token may have."""
    if text in OIDC_SCOPES:
        raise ValueError(f"give other scopes: {text} is for applications that sign people in")
    return scope(text)


def is_admin(scope: str) -> bool:
    """Whether the scope is one of those that authsite defines itself, for administrators."""
    return scope.startswith(ADMIN_PREFIX)


class Scopes(Mapping[str, str]):
    """The descriptions of scopes by name; ``for_groups``: those that only groups give to users."""

    def __init__(self, descriptions: Mapping[str, str], for_groups: frozenset[str]) -> None:
        self._descriptions, self.for_groups = dict(descriptions), for_groups

    def __getitem__(self, name: str) -> str:
        return self._descriptions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._descriptions)

    def __len__(self) -> int:
        return len(self._descriptions)


def scopes(text: str) -> Scopes:
    """Lines ``name: description`` or ``name [groups]: description``.

    A line is split at the first colon that a blank follows.
    """
    found: dict[str, str] = {}
    for_groups = set()
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, description = (line + " ").partition(": ")
        name, description = name.strip(), single_line(MAX_LINE)(description)
        if marked := _FOR_GROUPS.fullmatch(name):
            name = marked[1]
            for_groups.add(name)
        if not _SCOPE.fullmatch(name) or name in found:
            raise ValueError(
                "give one line `name: description` for each scope (`name [groups]: description` if"
                " only groups give it to users), each name once and of visible ASCII without"
                f" blanks, quotes and backslashes; this line is not: {line!r}"
            )
        if is_admin(name):
            raise ValueError(
                f"give {name} another name: authsite itself defines all scopes that begin with"
                f" {ADMIN_PREFIX}"
            )
        if name in RESERVED_SCOPES:
            raise ValueError(
                f"give {name} another name, or leave it out: authsite itself defines"
                f" {', '.join((ACCOUNT, *OIDC_SCOPES))}"
            )
        found[name] = description
    return Scopes(found, frozenset(for_groups))


def private_scheme(text: str) -> str:
    """The scheme of a program's own URIs (RFC 8252, section 7.1), without ``://``."""
    scheme = text.lower()
    if not re.fullmatch(r"[a-z][a-z0-9+.-]{0,63}", scheme):
        raise ValueError("give schemes of programs by their names, such as myapp, without ://")
    if scheme in RESERVED_SCHEMES:
        raise ValueError(f"give the program a scheme of its own: {scheme} has another meaning")
    return scheme


def color(text: str) -> str:
    """A color in hexadecimal notation, in lower case."""
    if not re.fullmatch(r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", text):
        raise ValueError("give a color such as #0a7 or #00aa77")
    return text.lower()


def font(text: str) -> str:
    """A list of font families as CSS writes it, in which every name but a generic one is quoted.

    A name has only letters, digits, blanks and hyphens, so that it cannot end the declaration.
    """
    names = [" ".join(name.strip(" \"'").split()) for name in text.split(",")]
    if not all(_FONT.fullmatch(name) for name in names):
        raise ValueError(
            "give names of fonts, separated by commas, such as: Inter, Segoe UI, sans-serif"
        )
    return ", ".join(
        name.lower() if name.lower() in _GENERIC_FONTS else f'"{name}"' for name in names
    )


def corner_radius(text: str) -> str:
    """The radius of corners: a length in CSS, in px or rem."""
    parts = re.fullmatch(r"([0-9]{1,2}(?:\.[0-9]{1,3})?)(px|rem)", text.lower().strip())
    if text.strip() == "0":
        return "0px"
    if parts is None or float(parts[1]) > _MAX_RADIUS[parts[2]]:
        raise ValueError("give 0, or a length up to 24px or 1.5rem, such as 4px or 0.75rem")
    return parts[0]


def registration_fields(text: str) -> tuple[str, ...]:
    """What the registration page asks besides the e-mail address and the password."""
    names = tuple(dict.fromkeys(text.lower().split()))
    if names == ("none",):
        return ()
    if not set(names) <= {"name", "username", "phone"}:
        raise ValueError("give some of name, username and phone, separated by spaces, or none")
    return names


def region(text: str) -> str:
    """A country whose phone numbers may be written without +prefix (ISO 3166-1)."""
    # Slow to import, and needed only where this setting is used.
    from phonenumbers import SUPPORTED_REGIONS

    if text.upper() not in SUPPORTED_REGIONS:
        raise ValueError("give the two letters of a country, such as DE or US (GB for Britain)")
    return text.upper()


def client_id(text: str) -> str:
    """An OAuth client's id: visible ASCII (RFC 6749, appendix A.1)."""
    if not re.fullmatch(r"[!-~]{1,255}", text):
        raise ValueError("give the id that `authsite client create` printed")
    return text
