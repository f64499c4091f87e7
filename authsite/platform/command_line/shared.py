"""Shared parts of commands: settings, database, and output for people or scripts."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from authsite.platform.runtime.causes import cause_of as cause_of
from authsite.platform.runtime.lines import JOINERS, NotOneLine, one_line
from authsite.platform.settings import (
    Settings,
    SettingsError,
    environment,
    folder_of,
    load,
    read_ini,
)

if TYPE_CHECKING:
    from authsite.platform.context import Context, Services
    from authsite.platform.db import Database
    from authsite.platform.registrations import Registered

T = TypeVar("T")
LOCAL_URL = "http://localhost:6543"  # where `authsite serve` listens by default
ini_option = click.option(
    "--config", metavar="INI", help="Default: $AUTHSITE_CONFIG or development.ini."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
limit_option = click.option(
    "--limit",
    default=200,
    show_default=True,
    type=click.IntRange(1),
    help="The largest number of rows.",
)


def _one_line(_ctx: click.Context, option: click.Parameter, reason: str | None) -> str | None:
    """The reason without blanks around it; None for an empty one. Raises `click.ClickException`.

    An event of the audit trail has it, which cannot be changed later.
    """
    from authsite.platform.audit.service import MAX_REASON

    try:
        text = one_line((reason or "").strip()) or ""
    except NotOneLine as error:
        raise click.ClickException(f"--reason: give one line: {error}") from None
    if len(text) > MAX_REASON or (option.required and not text):
        raise click.ClickException(f"--reason: give one line of 1 to {MAX_REASON} characters")
    return text or None


yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something that cannot be undone, unless ``yes``; end the command at "no".

    Raises `click.UsageError` without a terminal to ask on.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on: use --yes")
    click.confirm(visible(question), abort=True)


def required_reason_option(text: str) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """The option ``--reason`` of a command that needs one; ``text``: its help."""
    return click.option("--reason", metavar="TEXT", required=True, help=text, callback=_one_line)


reason_option = click.option(
    "--reason", metavar="TEXT", help="Why, for the audit trail.", callback=_one_line
)


def examples(*lines: str) -> str:
    """The epilog of a command's help with its examples, which click does not wrap."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def config_path(option: str | None) -> Path:
    """The path of the ini: ``--config``, else $AUTHSITE_CONFIG, else development.ini."""
    return Path(option or os.environ.get("AUTHSITE_CONFIG") or "development.ini")


def config_option(command: Callable[..., T]) -> Callable[..., T]:
    """Add the option ``--config INI``; ``command`` gets the settings as ``cfg``."""

    @ini_option
    @wraps(command)
    def with_settings(config: str | None, **arguments: object) -> T:
        return command(cfg=settings_of(config), **arguments)

    return with_settings


def settings_of(config: str | None) -> Settings:
    """The settings of an ini file and the environment. Raises `click.ClickException`."""
    try:
        ini = read_ini(config_path(config))
        return load(ini, environment(folder_of(ini)))
    except SettingsError as error:
        raise click.ClickException(str(error)) from None


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn an error of the database into a `click.ClickException` with one clear message."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except SQLAlchemyError as error:
        raise click.ClickException(
            f"the database reported an error: {cause_of(error)}\nCheck that it is reachable, and "
            "run `authsite init` (or `authsite db upgrade`) if you have not yet."
        ) from None


@contextmanager
def open_for(cfg: Settings) -> "Iterator[Database]":
    """The database, closed at the end. Its errors become a `click.ClickException`."""
    from authsite.platform.db import open_database

    database = open_database(cfg.database_url.reveal())
    try:
        with database_errors():
            yield database
    finally:
        database.dispose()


@contextmanager
def services_of(cfg: Settings) -> "Iterator[Services]":
    """The services of a command, without rate limits; closed at the end, errors as in `open_for`.

    The registrations of packages are loaded when the command first needs them.
    """
    from dataclasses import replace

    from authsite.platform.context import make_services
    from authsite.platform.registrations import Registrations

    made = make_services(cfg, limits=False)
    services = replace(made, registrations=Registrations(lambda: _registered(made)))
    try:
        with database_errors():
            yield services
    finally:
        services.database.dispose()


def described_services() -> "Services":
    """Services with all registrations, for a help text: no setting is read, nothing connects."""
    import secrets

    from authsite.platform.context import make_services

    made_up = {
        "authsite.secret": secrets.token_urlsafe(48),
        "authsite.database-url": "postgresql://localhost/authsite",
        "authsite.base-url": LOCAL_URL,
    }
    services = make_services(load(made_up, {}), limits=False)
    _registered(services)
    return services


def _registered(services: "Services") -> "dict[Registered[Any], dict[str, Any]]":
    """Register what the packages register in an application with these services."""
    from pyramid.path import DottedNameResolver

    # By its name: it composes all packages, and this one is below them.
    compose = DottedNameResolver().resolve("authsite.compose")
    compose({}, services=services)
    return services.registrations.by_directive


@contextmanager
def session(cfg: Settings) -> "Iterator[Context]":
    """The context of a command that begins its own transactions, without rate limits.

    Errors of the database, `FeatureNotOpen` and `OtherSecret` become a `click.ClickException`.
    """
    from sqlalchemy.orm import Session

    from authsite.platform.audit.service import RECORDED
    from authsite.platform.context import Context
    from authsite.platform.http.request_info import RequestInfo
    from authsite.platform.installation.features import FeatureNotOpen
    from authsite.platform.installation.fingerprints import OtherSecret
    from authsite.platform.logs import configure_default

    configure_default()  # structlog's own default writes to the standard output
    with services_of(cfg) as services:
        try:
            with Session(services.database.transactional, expire_on_commit=False) as db:
                base_urls = cfg.base_url or (LOCAL_URL,)  # of links in mails
                info = RequestInfo(None, "authsite command line", None, base_urls, cfg.languages[0])
                yield Context(services, lambda: info, lambda: db)
                recorded = RECORDED in db.info
        except (FeatureNotOpen, OtherSecret) as error:
            raise click.ClickException(str(error)) from None
        if recorded:
            _seal(services)


def _seal(services: "Services") -> None:
    """Seal what a command has recorded: perhaps no process of the service runs that would do it."""
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.platform.audit.seals.seal import audit_keys
    from authsite.platform.audit.seals.sealing import seal_rest

    # One that may not or cannot seal has done its work nevertheless; the service seals later.
    with suppress(SQLAlchemyError), services.database.autocommit.connect() as connection:
        seal_rest(connection, audit_keys(services.settings))


@contextmanager
def transaction(cfg: Settings) -> "Iterator[Context]":
    """The context of a command, without rate limits. Its transaction is committed at the end.

    It may take longer than a request: some commands read whole tables.
    """
    from authsite.platform.db.engine import without_time_limit

    with session(cfg) as ctx, ctx.db.begin():
        without_time_limit(ctx.db.connection())
        yield ctx


def print_json(value: object) -> None:
    """Print one JSON value on one line."""
    click.echo(json.dumps(value))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> None:
    """Print a table; without styles if the output is not a terminal.

    Text of users and servers is printed literally: rich does not interpret it as markup, nor the
    terminal as a control sequence (CWE-150).
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not rows:
        click.echo(empty)
        return
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    # Wide enough that rich does not wrap or cut cells in a pipe.
    Console(width=None if sys.stdout.isatty() else 250).print(table)


def print_more(count: int) -> None:
    """Say that ``count`` rows are not shown, if there are any."""
    if count:
        click.echo(f"… and {count} more: --limit shows more of them.")


def print_facts(title: str, facts: Mapping[str, str]) -> None:
    """Print a title and aligned lines of names and values."""
    click.secho(title, bold=True)
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        click.echo(f"  {name:<{width}}  {visible(value)}")


def visible(text: str) -> str:
    """``text`` on one line, with control characters written as escapes: ``\\x1b``."""
    return "".join(
        c if c.isprintable() or c in JOINERS else c.encode("unicode_escape").decode() for c in text
    )
