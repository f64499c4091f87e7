"""The checks of ``authsite doctor`` that read the database."""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import uuid4

from authsite.platform.finding import Finding
from authsite.platform.runtime.causes import cause_of
from authsite.platform.settings import Settings

from .features import standby_findings
from .findings import line

EVEN = 1.0  # seconds between the clocks; more is to be changed
TRIAL_ROWS = 1000  # about 200 KiB: more than the free space in the pages of a small table

if TYPE_CHECKING:
    from authsite.platform.context import Services
    from authsite.platform.db import Database


def database_findings(services: "Services", *, counts: bool = True) -> Iterator[Finding]:
    """Schema, features, rights, clock, writing, standbys, secret, audit trail, clients and users.

    Only the first of these if the schema cannot be used. Without ``counts`` none that writes, or
    that reads a whole table of users or tokens.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.platform.db import migrate, privileges
    from authsite.platform.db.engine import has_time_limit

    cfg, database = services.settings, services.database
    try:
        schema = migrate.state(database)
        values = {"current": schema.revision or "nothing", "head": schema.head}
        if schema.status == "unreleased":
            values = {"error": str(migrate.UnreleasedSchema(str(schema.revision)))}
        yield line(f"schema-{schema.status}", "database-url", **values)
        if not schema.usable:
            return
        yield from _features(database)
        if privileges.is_superuser(database.autocommit):
            yield line("database-superuser", "database-url", advice=privileges.SUPERUSER)
        if not has_time_limit(database.autocommit):
            yield line("database-untimed", "database-url")
        yield _clock(database)
        if counts:
            yield from _writing(database)
        yield from standby_findings(services)
        yield from _secrets(cfg, database)
        yield from _audit_trail(cfg, database)
        yield from _clients(cfg, database)
        yield from _admin_scopes(cfg, database)
        yield from _cleartext(cfg, database)
        if counts:
            yield from _registration(cfg, database)
            yield from _scopes_for_groups(cfg, database)
    except SQLAlchemyError as error:
        yield line("database-unusable", "database-url", cause=cause_of(error))


def _features(database: "Database") -> Iterator[Finding]:
    from authsite.platform.db.migrate import former_revision
    from authsite.platform.installation.features import UNKNOWN, unknown

    if former := former_revision(database):
        yield line("upgrade-unfinished", "database-url", former=former)
    if names := unknown(database):
        yield line("features-unknown", "database-url", error=UNKNOWN.format(names=", ".join(names)))


def _clock(database: "Database") -> Finding:
    from sqlalchemy import select

    from authsite.platform.db.base import database_now
    from authsite.platform.runtime import clock

    with database.autocommit.connect() as connection:
        began = clock.now()
        now = connection.execute(select(database_now())).scalar_one()
        ended = clock.now()
    return clock_finding((now - began - (ended - began) / 2).total_seconds())


def clock_finding(seconds: float) -> Finding:
    """The finding for a clock of the database that is ``seconds`` ahead of this machine's."""
    from authsite.platform.runtime.clock import MAX_OFFSET

    is_wrong = abs(seconds) > MAX_OFFSET.total_seconds()
    state = "off" if is_wrong else "uneven" if abs(seconds) > EVEN else "even"
    direction = "behind" if seconds > 0 else "ahead of"
    return line(f"clock-{state}", "clock", seconds=f"{abs(seconds):.1f}", direction=direction)


def _writing(database: "Database") -> Iterator[Finding]:
    """Write some rows, and take them back: a full disk still reads."""
    from sqlalchemy import delete, insert
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.platform.rate_limit.storage import LimitCounter
    from authsite.platform.runtime import clock

    prefix, now = f"doctor:{uuid4()}:", clock.now()
    rows = [
        {"key": f"{prefix}{number}".ljust(120, "."), "count": 0, "expires_at": now}
        for number in range(TRIAL_ROWS)
    ]
    try:
        with database.transactional.begin() as connection:
            connection.execute(insert(LimitCounter), rows)
            connection.execute(delete(LimitCounter).where(LimitCounter.key.startswith(prefix)))
    except SQLAlchemyError as error:
        yield line("database-not-writable", "database-url", cause=cause_of(error))


def _secrets(cfg: Settings, database: "Database") -> Iterator[Finding]:
    from authsite.platform.installation.fingerprints import problems

    with database.autocommit.connect() as connection:
        for known, message in problems(connection, cfg):
            yield line("secret-other", known.name, error=message)


def _audit_trail(cfg: Settings, database: "Database") -> Iterator[Finding]:
    from authsite.platform.audit.purge import purge_problem
    from authsite.platform.audit.seals.late import some_late
    from authsite.platform.audit.seals.seal import audit_keys
    from authsite.platform.runtime import clock

    if len(cfg.secret) > 1 and not cfg.audit_key:
        yield line("audit-key-lost", "audit-key")
    with database.autocommit.connect() as connection:
        found = purge_problem(connection, clock.now(), cfg)
        late = some_late(connection, audit_keys(cfg))
    if found:
        yield line("audit-changed", "audit trail", seal=found.seal, text=found.text)
    if late:
        more = f" (and {len(late) - 1} more)" if len(late) > 1 else ""
        yield line("audit-late", "audit trail", seal=late[0].id, more=more)


def _clients(cfg: Settings, database: "Database") -> Iterator[Finding]:
    from authsite.oauth.clients.authentication import authenticate
    from authsite.oauth.errors import InvalidClient
    from authsite.platform.passwords import HashPool, Passwords

    if not cfg.clients:
        yield line("client-none", "clients.web.id")
    passwords = Passwords(cfg.bcrypt_cost, (), HashPool())
    for name, configured in cfg.clients.items():
        key = f"clients.{name}.id"
        try:
            secret = configured.secret.reveal()
            client = authenticate(database, passwords, configured.id, secret, upgrade=False)
        except InvalidClient:
            yield line("client-unknown", key)
            continue
        if client.may_use("password"):
            yield line("client-good", key)
        else:
            yield line("client-type", key, type=client.type)


def _admin_scopes(cfg: Settings, database: "Database") -> Iterator[Finding]:
    from shlex import quote

    from sqlalchemy import or_, select

    from authsite.oauth.models import Client
    from authsite.platform.settings.values import ADMIN_PREFIX, is_admin
    from authsite.users.groups.labels import ADMIN_SCOPES

    columns = Client.id, Client.name, Client.type, Client.scope, Client.default_scope
    has = or_(Client.scope.contains(ADMIN_PREFIX), Client.default_scope.contains(ADMIN_PREFIX))
    query = select(*columns).where(has).order_by(Client.id)
    with database.autocommit.connect() as connection:
        for id_, name, type_, *texts in connection.execute(query):
            scope, default = map(str.split, texts)
            # Clients that administer for themselves, or that the settings name, have them.
            administers = type_ == "personal" or str(id_) in cfg.admin_clients
            right = ADMIN_SCOPES.difference(default) if administers else ()
            if found := sorted({*filter(is_admin, (*scope, *default))}.difference(right)):
                yield line(
                    "client-admin-scope",
                    "clients",
                    id=id_,
                    client=name,
                    scopes=" ".join(found),
                    rest=quote(" ".join(each for each in scope if each not in found)),
                    default=quote(" ".join(each for each in default if each not in found)),
                )


def _cleartext(cfg: Settings, database: "Database") -> Iterator[Finding]:
    """Clients to which people return without TLS (`http-redirect-hosts`)."""
    from sqlalchemy import select
    from sqlalchemy.orm import Session

    from authsite.oauth.clients import redirect_uris
    from authsite.oauth.clients import uris as client_uris
    from authsite.oauth.models import Client, ClientUri

    with Session(database.autocommit) as db:
        with_http = select(ClientUri.client_id).where(ClientUri.uri.startswith("http:"))
        query = select(Client.id, Client.name).where(Client.id.in_(with_http)).order_by(Client.id)
        clients = db.execute(query).all()
        uris = client_uris.of(db, [row.id for row in clients])
    for id_, name in clients:
        if not (unencrypted := client_uris.unencrypted(uris, id_)):
            continue
        gone = sorted({*map(redirect_uris.host, unencrypted)}.difference(cfg.http_redirect_hosts))
        more = f". The setting http-redirect-hosts no longer has {', '.join(gone)}" if gone else ""
        shown = " ".join(unencrypted)
        yield line("client-cleartext", "clients", id=id_, client=name, uris=shown, more=more)


def _registration(cfg: Settings, database: "Database") -> Iterator[Finding]:
    from authsite.users.listing import count_users

    if cfg.registration != "domains":
        return
    with database.autocommit.connect() as connection:
        found = count_users(connection, cfg.registration_domains)
    if found.unconfirmed:
        yield line("registration-unconfirmed", "registration", count=found.unconfirmed)
    if found.of_other_domains:
        yield line("registration-other-domains", "registration", count=found.of_other_domains)


def _scopes_for_groups(cfg: Settings, database: "Database") -> Iterator[Finding]:
    from authsite.oauth.tokens.scope_loss import count_without_group
    from authsite.platform.runtime import clock

    with database.autocommit.connect() as connection:
        for scope in sorted(cfg.scopes.for_groups):
            if count := count_without_group(connection, scope, clock.now()):
                yield line("scope-older-tokens", "scopes", scope=scope, count=count)
