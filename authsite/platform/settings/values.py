"""Parsers of plain values: from text to a typed value, or ValueError with what is accepted."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Literal, NamedTuple, TypeVar

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


# Durations as they are written in the settings: ``90s``, ``15m``, ``12h``, ``30d``.


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_WRITTEN = re.compile(r"([0-9]{1,10})([smhd]?)")

# A century from today, in seconds since 1970, needs more than 32 bits, and far fewer than 64. Its
# year is one that `datetime` supports.
CENTURY = timedelta(days=36500)


def duration(
    maximum: timedelta, *, bare_days: bool = False, zero: bool = False
) -> Callable[[str], timedelta]:
    """A parser of durations up to ``maximum``.

    With ``bare_days`` a number without a unit means days, as in Apiato's two lifetimes;
    otherwise it is an error. Zero is an error unless ``zero`` is true. The parser raises
    `ValueError` with what is accepted.
    """
    bare = " (a bare number is days)" if bare_days else ""
    least = "0 or more" if zero else "more than 0"
    most = format_duration(maximum)
    message = f"give a duration such as 90s, 15m, 12h or 30d{bare}: {least}, at most {most}"

    def parse(text: str) -> timedelta:
        parts = _WRITTEN.fullmatch(text.lower())
        if parts is None:
            raise ValueError(message)
        number, unit = int(parts[1]), parts[2] or ("d" if bare_days else "")
        if number == 0 and zero:
            return timedelta()
        # Compare before making a timedelta, which overflows for large numbers.
        if not unit or number == 0 or number > maximum / timedelta(**{_UNITS[unit]: 1}):
            raise ValueError(message)
        return timedelta(**{_UNITS[unit]: number})

    return parse


def duration_or_forever(maximum: timedelta) -> Callable[[str], timedelta | None]:
    """A parser of durations up to ``maximum``, and of ``forever``, which it returns as None."""
    return duration_or("forever", maximum)


def duration_or(word: str, maximum: timedelta) -> Callable[[str], timedelta | None]:
    """A parser of durations up to ``maximum``, and of ``word``, which it returns as None."""
    parse_duration = duration(maximum)

    def parse(text: str) -> timedelta | None:
        if text.lower() == word:
            return None
        try:
            return parse_duration(text)
        except ValueError as error:
            raise ValueError(f"{error}; or {word}") from None

    return parse


def format_duration(span: timedelta) -> str:
    """A duration in the notation of the settings: ``15m``."""
    seconds = int(span.total_seconds())
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


# The mailbox of a setting: ``address``, or a name and an address (RFC 5322, section 3.4).


MAX_NAME = 200  # characters
_ADDRESS = re.compile(r"[!#-'*+/-9=?A-Z^-~.-]{1,64}@[A-Za-z0-9._-]{1,253}")
_NAMED = re.compile(r'(?:"((?:[^"\\]|\\.)*)" *|([^"<>@]*))<([^<>\s]+)>')
_SPECIAL = re.compile(r'[][()<>@,:;.\\"]')  # RFC 5322, section 3.2.3


class Mailbox(NamedTuple):
    """A name, which may be empty, and an address."""

    name: str
    address: str

    def __str__(self) -> str:
        if not self.name:
            return self.address
        escaped = re.sub(r'([\\"])', r"\\\1", self.name)
        name = f'"{escaped}"' if _SPECIAL.search(self.name) else self.name
        return f"{name} <{self.address}>"


def mailbox(text: str) -> Mailbox:
    """The name and the address of ``text``. Raises `ValueError`.

    Quotes around the name are optional, whatever it has: ``Dr. Smith: Co <a@example.org>``.
    """
    text = text.strip()
    parts = _NAMED.fullmatch(text)
    quoted, plain, address = parts.groups() if parts else (None, "", text)
    if not _ADDRESS.fullmatch(address):
        raise ValueError(
            "give one address: noreply@example.org, My site <noreply@example.org>, or a name in"
            ' quotes, "My site" <noreply@example.org>'
        )
    name = plain.strip() if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return Mailbox(single_line(MAX_NAME)(name), address)


def mail_address(text: str) -> str:
    """A sender on one line: ``address`` or ``Name <address>``, with the name quoted if need be."""
    return str(mailbox(text))


# Domains of e-mail addresses in one canonical form: lower case and ASCII (IDNA, RFC 5891).


# Names of private networks, which email-validator rejects: it accepts global names only.
_PRIVATE_DOMAINS = (".localhost", ".local", ".test")


def mail_domain(domain: str, local: str = "name") -> str:
    """The domain of the address ``local@domain``, as SMTP transmits it.

    Raises `ValueError` if the text is not the address of a mailbox.
    """
    # The import takes 20 ms, and a process that only guards routes never needs it.
    from email_validator import EmailNotValidError, validate_email

    # With a global suffix, email-validator checks a private name like any other.
    domain = unicodedata.normalize("NFC", domain)
    lowered = domain.lower()
    private = lowered == "localhost" or lowered.endswith(_PRIVATE_DOMAINS)
    suffix = ".com" if private else ""
    try:
        valid = validate_email(
            f"{local}@{domain}{suffix}",
            check_deliverability=False,
            strict=True,
            # Stated, since the defaults are globals that a host application may change.
            allow_quoted_local=False,
            allow_display_name=False,
            allow_domain_literal=False,
            allow_empty_local=False,
        )
    except EmailNotValidError as error:
        raise ValueError(str(error)) from None
    return str(valid.ascii_domain).removesuffix(suffix).lower()


def _domain(text: str) -> str:
    try:
        return mail_domain(text)
    except ValueError as error:
        raise ValueError(
            f"give whole domains such as corp.example, separated by spaces; {text!r} is none"
        ) from error


domains = list_of(_domain)


# Parsers of the values of *Second factors and passkeys*.


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
_APP_ORIGIN = re.compile(r"android:apk-key-hash:[A-Za-z0-9_-]{43}")
_SITE_ORIGIN = re.compile(r"(https://[a-z0-9.-]+|http://localhost)(:[0-9]{1,5})?")

# Whether users need a second factor.
second_factor: Callable[[str], Literal["optional", "required"]] = one_of(
    "optional", "required", message="give optional or required"
)
# What a right password needs where the user has not signed in before.
unrecognized_login: Callable[[str], Literal["allow", "code"]] = one_of(
    "allow", "code", message="give allow or code"
)


def factors(text: str) -> tuple[str, ...]:
    """A list of ``totp`` and ``passkey``, each once; it may be empty."""
    found = tuple(text.split())
    if len(set(found)) != len(found) or not {"totp", "passkey"}.issuperset(found):
        raise ValueError("give a list of totp and passkey, each at most once")
    return found


def day(text: str) -> date:
    """A day such as ``2027-01-31``."""
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise ValueError("give a day such as 2027-01-31")


def rp_id(text: str) -> str:
    """A domain name in lower case; no address, and no port.

    The domain of passkeys (Web Authentication Level 3, relying party identifier).
    """
    if not _DOMAIN.fullmatch(text) or text.rpartition(".")[2].isdigit():
        raise ValueError("give a domain such as example.org, without a scheme, port or path")
    return text


def passkey_origin(text: str) -> str:
    """The origin of a site or an Android app, as browsers and apps send it."""
    if not (_APP_ORIGIN.fullmatch(text) or _SITE_ORIGIN.fullmatch(text)):
        raise ValueError(
            "give an origin such as https://example.net, without a path,"
            " or android:apk-key-hash:… with the 43 characters of the hash"
        )
    return text
