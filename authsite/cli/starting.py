"""What is checked before a service starts: program, port, database, application."""

import socket
from collections.abc import Mapping
from pathlib import Path

import click

from authsite.platform.command_line.shared import cause_of
from authsite.platform.settings import Settings
from authsite.server.worker import claim

NOT_RECORDED = (
    "the fingerprint of the secret is not in the database ({cause}): the database has to be "
    "reachable, and its role needs the rights in docs/hardening.md"
)


def other_program(ini: Mapping[str, str]) -> str:
    """The application that an ini configures, if that is not authsite; else an empty text."""
    use, factory = ini.get("use", ""), ini.get("paste.app_factory", "")
    if use in ("", "egg:authsite", "egg:authsite#main") and factory in ("", "authsite:main"):
        return ""
    return factory or use


def application_error(path: Path, *, keep: bool = False) -> str:
    """Why the application of the ini at ``path`` cannot be made; empty if it can be.

    ``keep``: the workers that are forked from this process have it then.
    """
    from authsite.server.worker import created, failure_of, prepared

    try:
        app = prepared(path.absolute()) if keep else created(path)
        app.registry["authsite"].database.dispose()
    except Exception as error:
        return failure_of(error)
    return ""


def refuse_other_programs(path: Path, ini: Mapping[str, str]) -> None:
    """Raise `click.ClickException` if the ini configures an application that is not authsite."""
    if other := other_program(ini):
        raise click.ClickException(
            f"{path} configures another program ({other}): serve that with `pserve {path}`; "
            "`authsite serve` runs authsite alone, with `use = egg:authsite`."
        )


def claim_port(host: str, port: int) -> socket.socket:
    """`claim` the port. Raises `click.ClickException` if another server uses it."""
    try:
        return claim(host, port)
    except OSError as error:
        raise click.ClickException(
            f"{host}:{port} cannot be used: {error.strerror}. Stop the server that uses it, or "
            "give another with --host and --port."
        ) from None


def refuse_other_installation(cfg: Settings) -> None:
    """Record secret and sealing key in the database.

    Raises `click.ClickException` if the database knows others, or is one that only another version
    can use. Without a usable database nothing happens: the service starts, and waits for it.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.platform.db import migrate, open_database
    from authsite.platform.installation.features import UnknownFeatures, refuse_other_versions
    from authsite.platform.installation.fingerprints import OtherSecret, check_and_record

    database = open_database(cfg.database_url.reveal())
    try:
        refuse_other_versions(cfg)
        if not migrate.state(database).usable:
            return
        with database.autocommit.connect() as connection:
            check_and_record(connection, cfg)
    except (OtherSecret, UnknownFeatures, migrate.UnreleasedSchema) as error:
        raise click.ClickException(str(error)) from None
    except SQLAlchemyError as error:
        click.secho(f"note: {NOT_RECORDED.format(cause=cause_of(error))}", err=True)
    finally:
        database.dispose()


def prepare_application(path: Path) -> None:
    """Make the application that the workers have, who are forked from this process.

    Raises `click.ClickException` if it cannot be made.
    """
    if error := application_error(path, keep=True):
        raise click.ClickException(error)
