"""``authsite doctor``: what is wrong, and what production would need."""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from authsite.settings import (
    Settings,
    SettingsError,
    env_file_path,
    environment,
    load,
    read_ini,
    unknown_variables,
)

from .shared import config_path, json_option, print_json

MARKS = {"ok": ("ok", "green"), "change": ("change", "yellow"), "wrong": ("WRONG", "red")}


@dataclass(frozen=True)
class Finding:
    """One line of the report: ``ok``, ``change`` (before production) or ``wrong`` (now)."""

    state: str
    subject: str
    message: str


@click.command()
@click.option("--config", metavar="INI", help="Default: $AUTHSITE_CONFIG or development.ini.")
@json_option
def doctor(config: str | None, as_json: bool) -> None:
    """Check the set-up. Ends with status 1 if something is wrong."""
    findings = list(examine(config))
    if as_json:
        print_json({"findings": [vars(finding) for finding in findings]})
    else:
        for finding in findings:
            mark, colour = MARKS[finding.state]
            click.echo(f"{click.style(f'{mark:<6}', fg=colour)}  {finding.subject}: "
                       f"{finding.message}")  # fmt: skip
    if any(finding.state == "wrong" for finding in findings):
        raise SystemExit(1)


def examine(config: str | None) -> Iterator[Finding]:
    """All findings, the settings first; without settings nothing else can be looked at."""
    path = config_path(config)
    variables = environment()
    try:
        cfg = load(read_ini(path), variables)
    except SettingsError as error:
        yield Finding("wrong", "settings", str(error))
        return
    yield Finding("ok", "settings", f"{path} and the environment are understood")
    for name in unknown_variables(variables):
        yield Finding("wrong", name, "is no setting and has no effect; check its spelling")
    yield from _files(cfg)
    yield from _database(cfg)
    yield from _for_production(cfg)


def _files(cfg: Settings) -> Iterator[Finding]:
    env_file = env_file_path(environment())
    for path in (env_file, _sqlite_file(cfg)):
        if path is None or not path.exists():
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            yield Finding(
                "wrong", str(path), f"others may read it (mode {mode:04o}): chmod 600 {path}"
            )
        else:
            yield Finding("ok", str(path), "only its owner may read it")


def _database(cfg: Settings) -> Iterator[Finding]:
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.db import migrate, open_database

    database = open_database(cfg.database_url)
    try:
        current, head = migrate.current(database), migrate.head()
        if current != head:
            yield Finding(
                "wrong", "database-url",
                f"the schema is at {current or 'nothing'}, the code needs {head}: "
                "run `authsite db upgrade`",
            )  # fmt: skip
            return
        yield Finding("ok", "database-url", f"reachable, schema at {current}")
        yield from _clients(cfg, database)
    except SQLAlchemyError as error:
        cause = str(getattr(error, "orig", error)).strip().splitlines()[0]
        yield Finding("wrong", "database-url", f"not usable: {cause}")
    finally:
        database.dispose()


def _clients(cfg: Settings, database: Any) -> Iterator[Finding]:
    from authsite.oauth.clients import authenticate
    from authsite.oauth.errors import InvalidClient

    if not cfg.clients:
        yield Finding("wrong", "clients.web.id", "no proxy client is set: run `authsite init`")
    for name, configured in cfg.clients.items():
        key = f"clients.{name}.id"
        try:
            client = authenticate(database, configured.id, configured.secret)
        except InvalidClient:
            yield Finding(
                "wrong", key,
                "the database knows no enabled client with this id and secret: make one with "
                "`authsite client create --type password`, or rotate its secret",
            )  # fmt: skip
            continue
        if client.type == "password":
            yield Finding("ok", key, "the proxy's credentials are good")
        else:
            yield Finding("wrong", key, f"the client is of type {client.type}, not password")


def _for_production(cfg: Settings) -> Iterator[Finding]:
    day = timedelta(days=1)
    wishes = [
        (cfg.production, "production", "set it to true: unsafe choices then stop the start"),
        (
            (cfg.base_url or "").startswith("https://"), "base-url",
            "set the https address that people use; links in mails are made of it",
        ),
        (
            not cfg.database_url.startswith("sqlite"), "database-url",
            "SQLite serves one machine; PostgreSQL serves many",
        ),
        (cfg.mail_driver != "log", "mail-driver", "log sends nothing: set smtp and smtp-url"),
        (cfg.expires_in <= day, "expires-in",
         f"an access token lives {cfg.expires_in.days} days: 60m is usual"),
        (cfg.refresh_expires_in <= 90 * day, "refresh-expires-in",
         f"a refresh token lives {cfg.refresh_expires_in.days} days: 30d is usual"),
        (cfg.bcrypt_cost >= 12, "bcrypt-cost", "12 or more"),
        (cfg.limits, "limits", "off is for load measurements only"),
    ]  # fmt: skip
    for fine, key, wish in wishes:
        yield Finding("ok", key, "fit for production") if fine else Finding("change", key, wish)


def _sqlite_file(cfg: Settings) -> Path | None:
    from sqlalchemy.engine import make_url

    url = make_url(cfg.database_url)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None
