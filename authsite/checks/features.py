"""The checks of ``authsite doctor`` about OpenID Connect: whether it is on, and its keys."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from authsite.platform.finding import Finding
from authsite.platform.runtime.causes import cause_of
from authsite.platform.settings.values import format_duration

from .findings import line

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from authsite.platform.context import Services
    from authsite.platform.settings.sections import Provider


_SUBJECT = "openid"
_LATE = timedelta(days=2)  # after which no process seems to rotate the keys


def openid_findings(services: "Services", *, standalone: bool = True) -> Iterator[Finding]:
    """Whether applications can sign people in here, or why not, and the state of each key.

    ``standalone``: the settings are those of authsite's own application.
    """
    from authsite.oauth.oidc.availability import is_on_with

    cfg = services.settings
    if is_on_with(cfg, standalone=standalone):
        if cfg.openid_obstacle is None:  # else a rule says it
            yield line("openid-on", _SUBJECT, issuer=cfg.base_url[0])
            yield from _keys(services)
    elif cfg.openid is False:
        yield line("openid-set-off", _SUBJECT)
    elif cfg.openid_obstacle and standalone:
        yield line("openid-off", _SUBJECT, obstacle=cfg.openid_obstacle)
    else:
        yield line("openid-included", _SUBJECT)


def _keys(services: "Services") -> Iterator[Finding]:
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.oauth.oidc.keys.rotation import inspect
    from authsite.platform.runtime import clock

    cfg = services.settings
    try:
        found = inspect(services)
    except SQLAlchemyError:
        return  # the lines about the database say it
    if not found:
        yield line("signing-keys-none", "signing-keys")
    for key in found:
        subject = f"signing-keys.{key.alg}"
        if key.usable is False:
            yield line("signing-key-unusable", subject, kid=key.kid, state=key.state)
        elif key.state == "current" and key.current_at:
            overdue = cfg.signing_key_rotation and (
                key.current_at + cfg.signing_key_rotation + _LATE < clock.now()
            )
            name = "signing-key-overdue" if overdue else "signing-key-signs"
            yield line(name, subject, kid=key.kid, at=clock.rfc3339(key.current_at))


# The checks of ``authsite doctor`` about passkeys: their domain, and those of another one.


_PASSKEYS_SUBJECT = "passkey-rp-id"


def passkey_findings(services: "Services", *, counts: bool = True) -> Iterator[Finding]:
    """How many passkeys there are, and how many belong to another domain than the present one.

    Without ``counts`` only whether there can be any.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.platform.settings.rules import passkey_obstacle, relying_party

    cfg = services.settings
    party, obstacle = relying_party(cfg), passkey_obstacle(cfg)
    if obstacle:
        yield line("passkeys-off", _PASSKEYS_SUBJECT, obstacle=obstacle)
    if not counts:
        return
    try:
        found = _count(services)
    except SQLAlchemyError:
        return  # the lines about the database say it
    own = found.pop(party.id, 0) if party else 0
    if party and own:
        yield line("passkeys-on", _PASSKEYS_SUBJECT, count=own, rp_id=party.id)
    if found:
        names = ", ".join(sorted(found))
        yield line("passkeys-foreign", _PASSKEYS_SUBJECT, count=sum(found.values()), found=names)


def _count(services: "Services") -> dict[str, int]:
    """How many passkeys belong to each domain."""
    from sqlalchemy import func, select

    from authsite.sign_in.methods.passkeys.stored import Passkey

    query = select(Passkey.rp_id, func.count()).group_by(Passkey.rp_id)
    with services.database.autocommit.connect() as connection:
        return dict(connection.execute(query).tuples().all())


# The checks of ``authsite doctor`` that ask the other providers.


def provider_findings(services: "Services") -> Iterator[Finding]:
    """For each provider the redirect URI to register, and whether it answers."""
    cfg = services.settings
    if not cfg.providers:
        return
    from authsite.sign_in.methods.provider.protocol import return_url

    for provider in cfg.providers:
        subject = f"providers.{provider.name}"
        base = cfg.base_url[0] if cfg.base_url else "<base-url>"
        uri = return_url(base, provider)
        yield line("provider-redirect" if cfg.base_url else "provider-address", subject, uri=uri)
        if provider.preset == "microsoft" and provider.domains and not provider.domain_authority:
            yield line("provider-edov", subject)
        if provider.preset != "github":
            yield _answer(services, provider, subject)


def _answer(services: "Services", provider: "Provider", subject: str) -> Finding:
    """Whether discovery and keys can be read."""
    from authsite.sign_in.methods.provider.documents import documents_of
    from authsite.sign_in.methods.provider.exchange import Exchange
    from authsite.sign_in.methods.provider.failures import ProviderRefused

    exchange, documents = Exchange(services, provider), documents_of(services, provider)
    try:
        discovery = documents.discovery(exchange)
        keys = documents.keys(exchange, discovery.jwks_uri)
    except ProviderRefused as error:
        return line("provider-unusable", subject, cause=error.cause, issuer=provider.issuer)
    if not keys:
        cause = f"{discovery.jwks_uri} has no keys"
        return line("provider-unusable", subject, cause=cause, issuer=provider.issuer)
    return line("provider-answers", subject, count=len(keys))


# The check of ``authsite doctor`` of the standbys in `database-read-url`.


KEY = "database-read-url"
PAUSE = 0.01  # seconds between two looks at what a standby has replayed


def standby_findings(services: "Services") -> Iterator[Finding]:
    """For each standby: whether it answers, and how far it is behind.

    Raises SQLAlchemy's errors if the primary does not answer.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.platform.db import open_database

    for url in services.settings.database_read_url:
        parsed = make_url(url.reveal())
        name = f"{parsed.host}:{parsed.port or 5432}"
        with services.database.autocommit.connect() as connection:
            written = connection.exec_driver_sql("SELECT pg_current_wal_flush_lsn()").scalar_one()
        standby = open_database(url.reveal())
        try:
            with standby.autocommit.connect() as connection:
                yield _finding(name, connection, written, services.settings.database_read_lag)
        except SQLAlchemyError as error:
            text = f"{name} cannot be asked ({cause_of(error)}), so the primary is: start it, or"
            yield Finding("wrong", KEY, f"{text} correct the URL")
        finally:
            standby.dispose()


def _finding(name: str, connection: "Connection", written: str, lag: "timedelta") -> Finding:
    if not connection.exec_driver_sql("SELECT pg_is_in_recovery()").scalar():
        text = "accepts writes: it is the primary, or it was promoted; give standbys of"
        return Finding("wrong", KEY, f"{name} {text} database-url")
    began = time.monotonic()
    while not _has_replayed(connection, written):
        if time.monotonic() - began > lag.total_seconds():
            text = f"is more than {format_duration(lag)} behind, so the primary is asked: see"
            advice = "pg_stat_replication there, or raise database-read-lag"
            return Finding("change", KEY, f"{name} {text} {advice}")
        time.sleep(PAUSE)
    behind = round((time.monotonic() - began) * 1000)
    return Finding("ok", KEY, f"{name} replays, and is {behind} ms behind")


def _has_replayed(connection: "Connection", written: str) -> bool:
    query = "SELECT pg_last_wal_replay_lsn() >= CAST(%s AS pg_lsn)"
    return bool(connection.exec_driver_sql(query, (written,)).scalar())
