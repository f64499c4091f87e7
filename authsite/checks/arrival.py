"""The check of ``authsite doctor --production`` that goes through the proxy: the login page."""

import shutil
import time
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from authsite.platform.finding import Finding
from authsite.platform.runtime import clock
from authsite.platform.runtime.causes import cause_of
from authsite.platform.runtime.processes import usable_cores
from authsite.platform.settings import Settings, SmtpServer, smtp_server
from authsite.platform.settings.urls import sqlite_file

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from authsite.platform.context import Services
    from authsite.platform.mail.transports.smtp import Tried


_SUBJECT = "base-url"
LIMIT = 1024 * 1024  # bytes of the page


def arrival_findings(services: "Services") -> Iterator[Finding]:
    """Fetch the login page at each `base-url`, and say which scheme and Host arrived."""
    for url in services.settings.base_url:
        yield _at(services, url)


def _at(services: "Services", base_url: str) -> Finding:
    from authsite.platform.http import arrival, outbound

    page = f"{base_url.rstrip('/')}/login"
    headers = {"Accept": "text/html", **arrival.question(services.keys, clock.now())}
    try:
        answer = outbound.send(
            services, outbound.UNTRUSTED, "GET", page, headers=headers, limit=LIMIT
        )
    except (outbound.Unreachable, ValueError) as error:
        advice = "start the service and the proxy, and run this again"
        return Finding("change", _SUBJECT, f"{page} cannot be fetched: {error}; {advice}")
    arrived = answer.headers.get(arrival.ANSWER)
    if arrived is None:
        return Finding(
            "change",
            _SUBJECT,
            f"{page} answered with {answer.status}, and not as this authsite: does the proxy pass"
            " this host and path on to it, and does it run with this secret?",
        )
    parts = urlsplit(arrived)
    text = f"{page} arrived with the scheme {parts.scheme} and the Host {parts.netloc}"
    expected = urlsplit(base_url)
    if (parts.scheme, parts.netloc) == (expected.scheme, expected.netloc):
        return Finding("ok", _SUBJECT, text)
    advice = "let the proxy forward both (docs/production.md), and name it in trusted-proxies"
    if len(services.settings.base_url) > 1:
        text = f"{text}: authsite takes the request for one at {services.settings.base_url[0]}"
        return Finding("change", _SUBJECT, f"{text}; {advice}")
    text = f"{text}; authsite uses base-url in their place"
    return Finding("note", _SUBJECT, f"{text}. For several base-url, {advice}")


# What ``authsite doctor --production`` tries out: the machine, the database, the mail server.


MIB = 1024 * 1024
DISK = (100 * MIB, 1024 * MIB)  # bytes; less is wrong, or to be changed
HASH = (50, 1000)  # milliseconds that one hash should take

_SERVER = """
SELECT coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS encrypted,
    host(inet_server_addr()) AS address,
    least(current_setting('max_connections')::int
            - current_setting('superuser_reserved_connections')::int,
        nullif(rolconnlimit, -1)) AS connections,
    (SELECT count(*) FROM pg_stat_activity WHERE usesysid IS NOT NULL AND datid IS NOT NULL
        AND pid <> pg_backend_pid()) AS others,
    rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls AS powerful
FROM pg_roles WHERE rolname = current_user
"""


def production_findings(cfg: Settings, workers: int | None = None) -> Iterator[Finding]:
    """The findings of all checks that read no setting alone.

    ``workers``: of `authsite serve`; by default one for each core, as there.
    """
    yield from _database(cfg, workers or usable_cores())
    yield from _mail(cfg)
    yield _hashing(cfg.bcrypt_cost)
    if cfg.password_breach_check:
        yield _breach_check(cfg.password_breach_check)
    how = "with the token" if cfg.metrics_token else "only from this machine"
    yield Finding("ok", "metrics-token", f"/metrics can be read {how}")


def _database(cfg: Settings, workers: int) -> Iterator[Finding]:
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.platform.db import open_database

    url = cfg.database_url.reveal()
    if file := sqlite_file(url):
        yield _disk(file.parent)
    if url.startswith("sqlite"):
        return
    database = open_database(url)
    try:
        with database.autocommit.connect() as connection:
            yield from _server(connection, workers)
    except SQLAlchemyError as error:
        yield Finding("wrong", "database-url", f"the server cannot be examined: {cause_of(error)}")
    finally:
        database.dispose()


def _disk(folder: Path) -> Finding:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding("wrong", "database-url", f"{folder} is not accessible: {error.strerror}")
    least, enough = DISK
    state = "wrong" if free < least else "change" if free < enough else "ok"
    advice = "" if state == "ok" else ": make room, since a full disk stops all writing"
    return Finding(state, "database-url", f"{free // MIB} MiB are free in {folder}{advice}")


def _server(connection: "Connection", workers: int) -> Iterator[Finding]:
    from sqlalchemy import text

    found = connection.execute(text(_SERVER)).one()
    yield _encryption(found.address, encrypted=found.encrypted, connection=connection)
    yield connections_finding(found.connections, workers, found.others)
    if found.powerful:
        yield Finding(
            "change",
            "database-url",
            "the role may create roles or databases, replicate, or bypass row security: use one "
            "with only the rights in docs/hardening.md",
        )


def _encryption(address: str | None, *, encrypted: bool, connection: "Connection") -> Finding:
    if address is None or ip_address(address).is_loopback:
        return Finding("ok", "database-url", "the database is on this machine")
    if not encrypted:
        return Finding(
            "wrong",
            "database-url",
            f"the connection to {address} is not encrypted: add ?sslmode=verify-full",
        )
    if connection.engine.url.query.get("sslmode") not in ("verify-full", "verify-ca"):
        return Finding(
            "change",
            "database-url",
            f"the connection to {address} is encrypted, but its certificate is not checked: add "
            "?sslmode=verify-full&sslrootcert=… with the certificate of its authority",
        )
    return Finding("ok", "database-url", f"the connection to {address} is encrypted and checked")


def connections_finding(allowed: int, workers: int, others: int) -> Finding:
    """The finding for a server that allows ``allowed`` connections, and ``workers`` processes.

    ``others``: the connections that are open now. Those of this service are among them, if it runs.
    More than half of what is allowed leaves too little for a second machine or a restart.
    """
    from authsite.platform.db.engine import ENGINE_OVERFLOW, ENGINE_POOL
    from authsite.platform.db.prepared_pool import PREPARED_POOL

    needed = workers * (2 * (ENGINE_POOL + ENGINE_OVERFLOW) + PREPARED_POOL)
    text = (
        f"{workers} workers use up to {needed} connections, {others} are open now, the server "
        f"allows {allowed}"
    )
    if 2 * needed <= allowed and needed + others <= allowed:
        return Finding("ok", "connections", text)
    advice = (
        "raise max_connections, or start fewer workers, so that it is enough for those of all "
        "machines (docs/scaling.md)"
    )
    return Finding("change", "connections", f"{text}: {advice}")


def _mail(cfg: Settings) -> Iterator[Finding]:
    if cfg.mail_driver != "smtp":
        yield Finding("wrong", "mail-driver", f"{cfg.mail_driver} sends no mail: give smtp")
        return
    from authsite.platform.mail.transports import SenderRejected, Unreachable
    from authsite.platform.mail.transports.smtp import try_out

    server = smtp_server(cfg.smtp_url.reveal())
    place = f"{server.host}:{server.port}"
    try:
        tried = try_out(cfg)
    except SenderRejected as error:
        text = f"{place} takes no mail from {cfg.mail_from} ({error}): check mail-from and the user"
        yield Finding("wrong", "mail-from", text)
    except Unreachable as error:
        yield Finding(
            "wrong",
            "smtp-url",
            f"{place} cannot be used ({error}): check host, port, user, password and certificate",
        )
    else:
        yield _encryption_of_mail(server, tried)


def _encryption_of_mail(server: SmtpServer, tried: "Tried") -> Finding:
    if tried.local:
        return Finding("ok", "smtp-url", f"{server.host}:{server.port} takes mails")
    if tried.verified:
        text = f"{server.host}:{server.port} takes mails, over TLS with a verified certificate"
        return Finding("ok", "smtp-url", text)
    if tried.encrypted:
        text = (
            f"mails travel to {server.host} encrypted, but its certificate is not verified: give "
            "?starttls=1 or smtps://…"
        )
    else:
        cause = f", since TLS fails ({tried.tls_failure})" if tried.tls_failure else ""
        text = (
            f"mails travel to {server.host} unencrypted{cause}: give smtps://… or ?starttls=1, "
            "which needs a server that offers TLS"
        )
    return Finding("change", "smtp-url", text)


def _hashing(cost: int) -> Finding:
    import bcrypt

    began = time.process_time()
    bcrypt.hashpw(b"a password", bcrypt.gensalt(cost))
    return hash_finding(cost, round((time.process_time() - began) * 1000))


def hash_finding(cost: int, milliseconds: int) -> Finding:
    """The finding for a machine that computes a hash of this cost in ``milliseconds``."""
    least, most = HASH
    text = f"a password hash of cost {cost} takes {milliseconds} ms"
    if milliseconds < least:
        return Finding("change", "bcrypt-cost", f"{text}: raise it, since guessing is as fast")
    if milliseconds > most:
        return Finding("change", "bcrypt-cost", f"{text}: lower it (not below 10), or logins queue")
    return Finding("ok", "bcrypt-cost", text)


def _breach_check(service: str) -> Finding:
    from authsite.platform.passwords.breaches import failure_of

    if cause := failure_of(service):
        text = f"the service does not answer ({cause}): allow the connection, or switch it off"
        return Finding("change", "password-breach-check", text)
    return Finding("ok", "password-breach-check", "the service answers")
