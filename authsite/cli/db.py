"""``authsite db …``"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from authsite.oauth.clients import service as clients
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.command_line.shared import (
    cause_of,
    config_option,
    examples,
    json_option,
    open_for,
    print_json,
    transaction,
)
from authsite.platform.context import Context
from authsite.platform.db.engine import without_time_limit
from authsite.platform.mail import outbox
from authsite.platform.settings import Secret, Settings
from authsite.sign_in.methods.totp.method import spend_present_steps
from authsite.users import user_data

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from authsite.platform.db.migrate import SchemaState


@click.group()
def db() -> None:
    """The database: schema, backup, restore."""


@db.command(epilog=examples("authsite db upgrade", "authsite db upgrade --finish"))
@click.option(
    "--finish",
    is_flag=True,
    help="Every process has the new version: open the features that the former one would overlook.",
)
@json_option
@config_option
def upgrade(cfg: Settings, finish: bool, as_json: bool) -> None:
    """Bring the schema up to date.

    The service may run during this. Each migration waits at most half a second for a table that is
    in use, and tries again; a second process that migrates waits for the first one. A schema that a
    newer version of authsite has migrated stays as it is.

    Then restart every process, and run the command again with --finish.
    """
    schema = upgrade_schema(cfg, lambda line: None if as_json else click.echo(line))
    former = _finish(cfg, finish)
    if as_json:
        return print_json({"revision": schema.revision, "finished": former is None})
    newer = f", newer than this version of authsite ({schema.head}), which works with it"
    click.echo(f"The schema is at revision {schema.revision}{newer * (schema.status == 'newer')}.")
    if finish:
        click.echo("The upgrade is finished: all features of this version are open.")
    elif former:
        click.echo(
            "Restart every process with the new version. Then run `authsite db upgrade --finish`: "
            f"it opens the features that processes of the former one (schema {former}) would "
            "overlook."
        )


@db.command(epilog=examples("authsite db backup /var/backups/authsite.sqlite"))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
@config_option
def backup(cfg: Settings, file: Path, as_json: bool) -> None:
    """Copy the SQLite database to FILE while the service runs.

    FILE is checked, readable by its owner only, and replaced only by a complete copy. PostgreSQL
    has its own tools: then the command prints the one to use.
    """
    from authsite.platform.db import sqlite_files

    database = _sqlite_path(cfg, "pg_dump --format=custom --file={file} {url}", file)
    try:
        sqlite_files.copy(database, file)
    except sqlite_files.UnusableFile as error:
        raise click.ClickException(str(error)) from None
    size = file.stat().st_size
    if as_json:
        return print_json({"file": str(file), "bytes": size})
    click.echo(f"{file} is a copy of {database}, checked, {size:,} bytes.")


@db.command(epilog=examples("authsite db restore /var/backups/authsite.sqlite"))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
@config_option
def restore(cfg: Settings, file: Path, as_json: bool) -> None:
    """Make the backup FILE the SQLite database. Stop the service before.

    A copy of FILE is checked, brought to the schema of this version, and treated as by `authsite
    db after-restore`; then it takes the place of the database, which is kept beside it. PostgreSQL
    has its own tools: then the command prints the one to use.
    """
    from authsite.platform.db import sqlite_files

    database = _sqlite_path(cfg, "pg_restore --no-owner --dbname={url} {file}", file)
    prepared = database.with_name(f"{database.name}.restoring")
    try:
        with sqlite_files.locked(database):
            try:
                sqlite_files.copy(file, prepared)
                copied = replace(cfg, database_url=Secret(f"sqlite:///{prepared}"))
                _require_schema(copied, file)
                schema = upgrade_schema(copied)
                ended = _end_everything(copied)
                former = sqlite_files.replace(database, prepared)
            finally:
                for end in ("", "-wal", "-shm"):
                    prepared.with_name(prepared.name + end).unlink(missing_ok=True)
    except sqlite_files.UnusableFile as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        path = str(former) if former else None
        return print_json({"revision": schema.revision, "former": path, **ended._asdict()})
    click.echo(f"{database} is the backup {file} now, with the schema {schema.revision}.")
    if former:
        click.echo(f"The former database is {former}.")
    _tell(ended)


@db.command("after-restore", epilog=examples("authsite db after-restore"))
@json_option
@config_option
def after_restore(cfg: Settings, as_json: bool) -> None:
    """End all that a restored backup brought back (PostgreSQL). Then start the service.

    All tokens, sessions, reset links and pending changes of address end: some of them had been
    ended or used after the backup was made. Mails that wait then may have been sent since, and are
    held back. `authsite db restore` does the same.
    """
    ended = _end_everything(cfg)
    if as_json:
        return print_json(ended._asdict())
    _tell(ended)


def upgrade_schema(
    cfg: Settings,
    tell: Callable[[str], None] = lambda _line: None,
    check: "Callable[[Connection], None] | None" = None,
) -> "SchemaState":
    """Bring the schema up to date, and ``tell`` each step. Returns its state.

    Of a database that has a schema, first ``check`` reads what it needs; what it raises is raised.

    Raises `click.ClickException` if the database cannot be used, has tables with our names, or was
    made by a version before the first release.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.platform.db import migrate, open_database

    database = open_database(cfg.database_url.reveal())
    try:
        state = migrate.state(database)
        if check and state.status not in ("missing", "unreleased"):
            with database.autocommit.connect() as connection:
                check(connection)
        if not state.usable:
            migrate.upgrade(database, tell=tell)
        return migrate.state(database)
    except (migrate.TableNamesTaken, migrate.UnreleasedSchema) as error:
        raise click.ClickException(str(error)) from None
    except SQLAlchemyError as error:
        raise click.ClickException(
            f"the schema could not be brought up to date: {cause_of(error)}\nCheck database-url "
            "(AUTHSITE_DATABASE_URL, perhaps in the environment file), and that the database runs "
            "and lets this user create tables."
        ) from None
    finally:
        database.dispose()


def _finish(cfg: Settings, finish: bool) -> str | None:
    """The revision that every process knows, if the upgrade is not finished.

    With ``finish`` it is finished first.
    """
    from authsite.platform.db import migrate

    with open_for(cfg) as database:
        if finish:
            with database.transactional.begin() as connection:
                migrate.finish(connection)
        return migrate.former_revision(database)


def _sqlite_path(cfg: Settings, tool: str, file: Path) -> Path:
    """The file of the SQLite database.

    Raises `click.ClickException` for PostgreSQL, with the command ``tool``, and for a database in
    memory.
    """
    from sqlalchemy.engine import make_url

    url = make_url(cfg.database_url.reveal())
    if url.get_backend_name() == "postgresql":
        shown = url.set(drivername="postgresql", password=None).render_as_string()
        raise click.ClickException(
            f"the database is PostgreSQL: run  {tool.format(file=file, url=shown)}\n"
            "docs/backup.md has all the steps."
        )
    if not url.database or url.database == ":memory:":
        raise click.ClickException(
            "the database is in memory and has no file: set database-url to a file"
        )
    return Path(url.database)


def _require_schema(cfg: Settings, file: Path) -> None:
    from authsite.platform.db import migrate

    with open_for(cfg) as database:
        if migrate.state(database).status == "missing":
            raise click.ClickException(
                f"{file} is not a backup of authsite: it does not have authsite's schema"
            )


def _end_everything(cfg: Settings) -> "Ended":

    with transaction(cfg) as ctx:
        return end_everything(ctx)


def _tell(ended: "Ended") -> None:
    click.echo(
        f"Ended: all tokens, sessions, reset links and pending changes of {ended.users} users and "
        f"{ended.clients} clients."
    )
    if ended.mails:
        click.echo(
            f"Held back: {ended.mails} mails, which may have been sent since the backup. "
            "`authsite mail list` shows them, `authsite mail retry --all` sends them."
        )
    click.echo(
        "What was done since the backup is undone: changed passwords, disabled and erased users, "
        "rotated secrets. docs/backup.md says how to find it and do it again."
    )


# What a restored backup must not bring back.
#
# A backup has everything as it was then: tokens and sessions that were ended since, the counters
# that made used links invalid, changes of address that were canceled, and mails that were sent.
# The codes of authenticator apps that were used since then would be accepted again, so those of
# now are spent.


class Ended(NamedTuple):
    """How many users and clients lost what was issued to them, and how many mails are held back."""

    users: int
    clients: int
    mails: int


def end_everything(ctx: Context) -> Ended:
    """End all tokens, sessions, reset links and pending changes of address; hold back all mails."""
    without_time_limit(ctx.db.connection())
    spend_present_steps(ctx.db)
    ended = Ended(
        user_data.end_all_sign_ins(ctx.db), clients.end_all_tokens(ctx.db), outbox.hold_back(ctx.db)
    )
    record(ctx, Event.DATABASE_RESTORED)
    return ended
