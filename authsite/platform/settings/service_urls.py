"""Parsers of the URLs of other services: database, mail server, storage of the rate limits."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

from .secret import Secret
from .urls import host_name, is_address

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
