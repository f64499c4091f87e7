"""Parsers of URLs. Their results are safe to compare, to link to and to split again."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from types import MappingProxyType
from typing import Literal
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from .secret import Secret
from .values import list_of, mail_address, single_line

_PORTS = {"http": 80, "https": 443}
# ASCII without blanks, quotes and backslash, which browsers read as a slash (RFC 3986).
_ALLOWED = re.compile(r"[A-Za-z0-9:/?#\[\]@!$&'()*+,;=%._~-]{1,2048}")
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_HEXADECIMAL = re.compile(r"(?:.*\.)?0x[0-9a-f]*")
_BASE_PATH = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~%-]+)*")
_APP_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]{0,31})://([a-z0-9_.-]+)(:[1-9][0-9]{0,4})?")
_PATH = re.compile(r"/(?![/\\])[A-Za-z0-9/_.~%?=&#-]{0,2047}")
_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}(/[A-Za-z0-9_-][A-Za-z0-9._-]{0,254})*")
LOOPBACK_NAME = "localhost"
HAVE_I_BEEN_PWNED = "https://api.pwnedpasswords.com/range"


def web_url(text: str) -> str:
    """An absolute ``http(s)`` URL, unchanged: it is compared character by character."""
    _split_web(text, "give an absolute URL such as https://app.example.org/verify")
    return text


def base_url(text: str) -> str:
    """The canonical form of our own address: origin and optional path, without a trailing slash."""
    message = "give our own address, such as https://auth.example.org, with a path if it has one"
    parts = _split_web(text, message)
    path = parts.path.rstrip("/")
    if "?" in text or not _BASE_PATH.fullmatch(path):
        raise ValueError(f"{message}, without a query")
    return _origin(parts) + path


def origin(text: str) -> str:
    """An origin as browsers write it (RFC 6454): scheme, host, and port if not the default."""
    message = "give exact origins such as https://app.example.org, without path and without *"
    parts = _split_web(text, message)
    if "?" in text or parts.path not in ("", "/"):
        raise ValueError(message)
    return _origin(parts)


def cors_origin(text: str) -> str:
    """The origin of a web page, or of an app with its own scheme (``capacitor://localhost``)."""
    return _app_origin(text) or origin(text)


def _app_origin(word: str) -> str | None:
    parts = _APP_ORIGIN.fullmatch(word.lower())
    if parts is None or parts[1] in _PORTS:
        return None
    try:
        return f"{parts[1]}://{host_name(parts[2])}{parts[3] or ''}"
    except ValueError:
        return None


web_urls, base_urls = list_of(web_url), list_of(base_url)
origins, cors_origins = list_of(origin), list_of(cors_origin)


def login_page(text: str) -> str:
    """The name of one of our pages, or the absolute URL of a login page on another site."""
    if "://" in text:
        return web_url(text)
    name = "" if text.startswith("//") else text.strip("/")
    if not re.fullmatch(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*", name):
        raise ValueError("give the name of a page such as login, or an absolute URL")
    return name


def logo(text: str) -> str:
    """The URL of a picture, its path on our own host, or the name of a file in `static-folder`."""
    return _place(text, "give the URL of a picture, or its path on our host (/static/logo.svg)")


def icon(text: str) -> str:
    """As `logo`, but of our own host: pages load nothing else from other hosts."""
    if "://" in text or not _is_local(text):
        raise ValueError(
            "give the path of a picture on our host (/static/icon.svg), or the name of a file in"
            " static-folder"
        )
    return text


def terms(text: str) -> str:
    """The URL of a page, its path on our own host, or the name of a file in `static-folder`."""
    return _place(text, "give the URL of a page, or its path on our host (/terms)")


def link(text: str) -> str:
    """As `terms`, or ``mailto:`` with an e-mail address."""
    scheme, _, address = text.partition(":")
    if scheme.lower() == "mailto" and "<" not in address:
        return f"mailto:{mail_address(address)}"
    return _place(text, "give a URL, a path on our host (/help), or mailto:help@example.org")


def footer_links(text: str) -> Mapping[str, str]:
    """Lines ``Text: URL``, split at the first colon that a blank follows; see `link`."""
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        words, _, place = (part.strip() for part in line.partition(": "))
        try:
            words = single_line(1024)(words)
            if not words or len(words) > 60 or words in found:
                raise ValueError("give each text once, with at most 60 characters")
            found[words] = link(place)
        except ValueError as error:
            raise ValueError(
                "give one line `Text: URL` for each link, such as `Imprint:"
                f" https://example.org/imprint`; this line is not: {line!r} ({error})"
            ) from None
    return MappingProxyType(found)


def is_file_name(place: str) -> bool:
    """Whether a link, logo or icon is the name of a file in `static-folder`."""
    return _FILE_NAME.fullmatch(place) is not None


def _place(text: str, message: str) -> str:
    if not _is_local(text):
        _split_web(text, message)
    return text


def _is_local(text: str) -> bool:
    return is_file_name(text) or _PATH.fullmatch(text) is not None


def range_service(text: str) -> str | None:
    """The URL of a service for breached passwords, without a trailing slash; None for ``off``."""
    if text.lower() in ("on", "off"):
        return HAVE_I_BEEN_PWNED if text.lower() == "on" else None
    message = "give on, off, or the URL of a range service such as https://api.example.org/range"
    parts = _split_web(text, message)
    if "?" in text:
        raise ValueError(f"{message}, without a query")
    return _origin(parts) + parts.path.rstrip("/")


def cookie_domain(text: str) -> str:
    """The domain of the session cookie, without a leading dot (RFC 6265, section 5.2.3)."""
    name = text.lower().removeprefix(".")
    if "." not in name or not _NAME.fullmatch(name) or name.rpartition(".")[2].isdigit():
        raise ValueError("give a domain such as example.org, which the host of base-url ends with")
    return name


def host_name(text: str) -> str:
    """A host name or IP address in canonical form. Raises `ValueError` for other text.

    A name whose last label is a hexadecimal number is an address for browsers (URL Standard,
    section 3.5).
    """
    name = text.lower()
    if ":" in name:
        if "%" in name:
            raise ValueError("the address has a zone")
        return f"[{ip_address(name)}]"
    if name.rpartition(".")[2].isdigit():
        return str(ip_address(name))
    if len(name) > 253 or not _NAME.fullmatch(name) or _HEXADECIMAL.fullmatch(name):
        raise ValueError("not a host name")
    return name


_PRIVATE_NAMES = (".internal", ".lan", ".home.arpa", ".local", ".test")
# RFC 1918, and RFC 4193 for IPv6.
_PRIVATE_NETWORKS = tuple(
    map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"))
)


def private_host(text: str) -> str:
    """A host of a private network, as a URL has it: an address, or a name that is not public."""
    try:
        name = host_name(text.strip("[]"))
        address = ip_address(name.strip("[]")) if name[-1:].isdigit() or ":" in name else None
    except ValueError:
        raise ValueError(f"give hosts without scheme, port and path: not {text}") from None
    if address is None:
        is_private = name.endswith(_PRIVATE_NAMES) and not name.startswith(".")
    else:
        is_private = any(address in each for each in _PRIVATE_NETWORKS)
    if not is_private:
        raise ValueError(
            f"give private addresses, or names that end in {', '.join(_PRIVATE_NAMES)}: not {text}"
        )
    return name


def host_of(url: str) -> str:
    """The canonical host of a URL that one of these parsers returned."""
    return host_name(urlsplit(url).hostname or "")


def is_address(host: str) -> bool:
    """Whether a canonical host is an IP address."""
    return host.startswith("[") or host.rpartition(".")[2].isdigit()


def is_loopback(host: str) -> bool:
    """Whether a canonical host is this machine."""
    if is_address(host):
        return ip_address(host.strip("[]")).is_loopback
    return host == LOOPBACK_NAME or host.endswith("." + LOOPBACK_NAME)


def _split_web(text: str, message: str) -> SplitResult:
    """The parts of an ``http(s)`` URL without user, fragment and wildcard; else `ValueError`."""
    try:
        parts = urlsplit(text)
        valid = (
            _ALLOWED.fullmatch(text) is not None
            and parts.scheme in _PORTS
            and "@" not in parts.netloc
            and not parts.netloc.endswith(":")
            and "#" not in text
            and "*" not in text
            and parts.port != 0  # raises ValueError over 65535
            and host_name(parts.hostname or "") != ""
        )
    except ValueError:
        valid = False
    if not valid:
        raise ValueError(f"{message}: http or https, without user, fragment and *")
    return parts


def _origin(parts: SplitResult) -> str:
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host_name(parts.hostname or '')}{port}"


# Parsers of the URLs of other services: database, mail server, storage of the rate limits.


_DATABASE = re.compile(r"(sqlite(\+pysqlite)?:///?|postgres(ql)?(\+psycopg)?://).*")
_RELATIVE_FILE = re.compile(r"(sqlite(?:\+pysqlite)?:///)(?!/|:memory:|file:)(.+)")
_FILE = re.compile(r"sqlite(?:\+pysqlite)?:///(?!:memory:|file:)([^?]+)(?:\?.*)?")
# Only one @, which ends user and password. A second one comes from a password that is not
# percent-encoded: its end would be read as the host, which errors show.
_AUTHORITY = re.compile(
    r"[a-z+]+://([^@/?#\s%]|%[0-9A-Fa-f]{2})*@[^@/?#\s]*(/[^@?#\s]*)?(\?[^#\s]*)?"
    r"|[a-z+]+://[^@#\s]*"
)
_SEVERAL = re.compile(
    r"(postgresql(?:\+psycopg)?://(?:[^@/?]*@)?)([^@/?,]*,[^@/?]*)(/[^?]*)?(?:\?(.*))?"
)
_ONE_OF_SEVERAL = re.compile(r"[^\s:\[\]]+(:\d{1,5})?")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]*)(:\d{1,5})?")
_LIMITS = re.compile(r"(redis|rediss|valkey|valkeys)(\+(unix|sentinel|cluster))?://\S+")
_SMTP_ADVICE = (
    "give smtp://host:25, smtp://user:password@host:587?starttls=1 or"
    " smtps://user:password@host:465, with @ : / ? # % in user and password percent-encoded"
)


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """A mail server. Unless ``tls`` is ``none``, TLS is required and the certificate verified.

    With ``none`` TLS is used if the server offers it, and required to send a password to another
    machine.
    """

    host: str
    port: int
    username: str | None
    password: Secret | None
    tls: Literal["none", "starttls", "implicit"]


def database_url(text: str) -> Secret:
    """A SQLAlchemy URL for SQLite or PostgreSQL; ``postgres://`` becomes ``postgresql://``.

    PostgreSQL may have several hosts, as in ``postgresql://user@first,second:5433/database``.
    """
    if not _DATABASE.fullmatch(text):
        raise ValueError(
            "give sqlite:///path/to/file.sqlite or postgresql://user:password@host/database"
        )
    if not text.startswith("sqlite") and not _AUTHORITY.fullmatch(text):
        raise ValueError(
            "give postgresql://user:password@host/database with @ : / ? # % in user and password"
            " percent-encoded: %40 for @, %2F for /, %25 for %"
        )
    if not text.startswith("sqlite"):
        _check_hosts(text)
    return Secret(_with_hosts(_with_scheme(text)))


def _with_scheme(url: str) -> str:
    return re.sub(r"^postgres(?=[+:])", "postgresql", url)


def read_urls(text: str) -> tuple[Secret, ...]:
    """The URLs of standbys on PostgreSQL, one for each host of ``text``; none for empty text."""
    if not text:
        return ()
    if text.startswith("sqlite"):
        raise ValueError("a SQLite file has no standby: leave it out, or give postgresql://…")
    url = database_url(text)
    found = _SEVERAL.fullmatch(_with_scheme(text))
    if not found:
        return (url,)
    begin, hosts, path, query = found.groups()
    rest = (path or "/") + (f"?{query}" if query else "")
    return tuple(Secret(f"{begin}{host}{rest}") for host in hosts.split(","))


def _check_hosts(url: str) -> None:
    """Raise `ValueError` unless each host is like ``name``, ``name:5432`` or ``[::1]:5432``."""
    authority = re.split(r"[/?]", url.partition("://")[2], maxsplit=1)[0]
    hosts = authority.rpartition("@")[2].split(",")
    if not all(map((_HOST if len(hosts) == 1 else _ONE_OF_SEVERAL).fullmatch, hosts)):
        raise ValueError(
            "give each host as name or name:5432; a single one may be an IPv6 address in brackets,"
            " as in postgresql://user@[2001:db8::1]:5432/database"
        )


def _with_hosts(url: str) -> str:
    """``url``, with several hosts as SQLAlchemy reads them; libpq has them before the path.

    Of several hosts the one that accepts writes is used, unless the URL says otherwise (PostgreSQL
    manual, 34.1.1.3).
    """
    found = _SEVERAL.fullmatch(url)
    if not found:
        return url
    begin, hosts, path, query = found.groups()
    options = [f"host={host}" for host in hosts.split(",")] + ([query] if query else [])
    if "target_session_attrs=" not in (query or ""):
        options.append("target_session_attrs=read-write")
    return f"{begin}{path or '/'}?{'&'.join(options)}"


def relative_to(url: Secret, folder: Path) -> Secret:
    """``url``, with a relative path of a SQLite file made relative to ``folder``."""
    relative = _RELATIVE_FILE.fullmatch(url.reveal())
    return Secret(f"{relative[1]}{folder / relative[2]}") if relative else url


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite database; None for a database in memory or on PostgreSQL."""
    found = _FILE.fullmatch(url)
    return Path(found[1]) if found else None


def limits_storage(text: str) -> Secret:
    """Where limits are counted: ``database``, ``memory``, or a URL of the limits library."""
    if text.lower() in ("database", "memory"):
        return Secret(text.lower())
    if text.lower() == "memory://":
        return Secret("memory")
    if not _LIMITS.fullmatch(text):
        raise ValueError("give database, memory or redis://host:6379/0")
    return Secret(text)


def smtp_url(text: str) -> Secret:
    """The URL of a mail server, checked; `smtp_server` returns its parts."""
    smtp_server(text)
    return Secret(text)


def smtp_server(url: str) -> SmtpServer:
    """The parts of an ``smtp-url``, with user and password decoded. Raises `ValueError`."""
    try:
        return _smtp_server(url)
    except ValueError:
        raise ValueError(_SMTP_ADVICE) from None


def _smtp_server(url: str) -> SmtpServer:
    if not re.fullmatch(r"[!-~]{1,2048}", url):
        raise ValueError("not of visible ASCII")
    parts = urlsplit(url)
    query = parse_qs(parts.query, strict_parsing=True, keep_blank_values=True) if "?" in url else {}
    starttls = query.pop("starttls", ["0"])
    if parts.scheme not in ("smtp", "smtps") or query or starttls not in (["0"], ["1"]):
        raise ValueError("another scheme or option")
    if parts.path not in ("", "/") or "#" in url or parts.port == 0:
        raise ValueError("a path, fragment or port 0")
    implicit = parts.scheme == "smtps"
    if (implicit and starttls == ["1"]) or bool(parts.username) != bool(parts.password):
        raise ValueError("two kinds of TLS, or half of user and password")
    return SmtpServer(
        host=host_name(parts.hostname or "").strip("[]"),
        port=parts.port or (465 if implicit else 25),
        username=unquote(parts.username, errors="strict") if parts.username else None,
        password=Secret(unquote(parts.password, errors="strict")) if parts.password else None,
        tls="implicit" if implicit else "starttls" if starttls == ["1"] else "none",
    )


def smtp_helo(text: str) -> str:
    """The name in EHLO: a host name, or an address, which gets brackets (RFC 5321, 4.1.3)."""
    name = text.strip("[]")
    try:
        return mail_client_name(host_name(re.sub("^ipv6:", "", name, flags=re.IGNORECASE)))
    except ValueError:
        raise ValueError(
            "give a host name such as auth.example.org, or an address such as [192.0.2.1]"
        ) from None


def mail_client_name(host: str) -> str:
    """A canonical host as EHLO writes it."""
    if host.startswith("["):
        return f"[IPv6:{host[1:-1]}]"
    return f"[{host}]" if is_address(host) else host
