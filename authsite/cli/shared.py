"""What commands have in common: the settings, a transaction, and output for people or scripts."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from authsite.settings import Settings, SettingsError, environment, load, read_ini

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def config_path(given: str | None) -> Path:
    """``--config``, else $AUTHSITE_CONFIG, else development.ini."""
    return Path(given or environment().get("AUTHSITE_CONFIG") or "development.ini")


def config_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--config INI``; the command gets the parsed settings as ``cfg``."""

    @click.option("--config", metavar="INI", help="Default: $AUTHSITE_CONFIG or development.ini.")
    @wraps(command)
    def with_settings(config: str | None, **arguments: Any) -> Any:
        return command(cfg=settings_of(config), **arguments)

    return with_settings


def settings_of(config: str | None) -> Settings:
    """The settings of an ini file and the environment; ends with status 1 if they are wrong."""
    try:
        return load(read_ini(config_path(config)), environment())
    except SettingsError as error:
        raise click.ClickException(str(error)) from None


@contextmanager
def open_for(cfg: Settings) -> Iterator[Any]:
    """The database; trouble with it becomes one clear line."""
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.db import open_database

    database = open_database(cfg.database_url)
    try:
        yield database
    except SQLAlchemyError as error:
        cause = str(getattr(error, "orig", error)).strip().splitlines()[0]
        raise click.ClickException(
            f"the database did not do it: {cause}\nIs it reachable, and was `authsite init` (or "
            "`authsite db upgrade`) run on it?"
        ) from None
    finally:
        database.dispose()


@contextmanager
def transaction(cfg: Settings) -> Iterator[Any]:
    """A session that commits at the end."""
    from sqlalchemy.orm import Session

    with (
        open_for(cfg) as database,
        Session(database.writer, expire_on_commit=False) as db,
        db.begin(),
    ):
        yield db


def source() -> Any:
    """The audit trail's word for an act at the command line."""
    from authsite.http.source import Source

    return Source(agent="authsite command line")


def print_json(value: Any) -> None:
    """One JSON value on one line."""
    click.echo(json.dumps(value))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> None:
    """A table for people; plain when the output is no terminal."""
    from rich.console import Console
    from rich.table import Table

    if not rows:
        click.echo(empty)
        return
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    # Into a pipe nothing is wrapped or cut.
    Console(width=None if sys.stdout.isatty() else 250).print(table)


def print_facts(title: str, facts: Mapping[str, str]) -> None:
    """A title and aligned name-value lines."""
    click.secho(title, bold=True)
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        click.echo(f"  {name:<{width}}  {value}")
