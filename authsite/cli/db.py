"""``authsite db upgrade``"""

import click

from authsite.settings import Settings

from .shared import cause_of, config_option, examples, json_option, print_json


@click.group()
def db() -> None:
    """The database schema."""


@db.command(epilog=examples("authsite db upgrade"))
@json_option
@config_option
def upgrade(cfg: Settings, as_json: bool) -> None:
    """Bring the schema up to date."""
    revision = upgrade_schema(cfg)
    if as_json:
        return print_json({"revision": revision})
    click.echo(f"The schema is at revision {revision}.")


def upgrade_schema(cfg: Settings) -> str | None:
    """Bring the schema up to date. Returns its revision.

    Raises `click.ClickException` if the database cannot be used or has tables with our names.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.db import migrate, open_database

    database = open_database(cfg.database_url)
    try:
        if migrate.current(database) != migrate.head():
            migrate.upgrade(database)
        return migrate.current(database)
    except migrate.TableNamesTaken as error:
        raise click.ClickException(str(error)) from None
    except SQLAlchemyError as error:
        raise click.ClickException(
            f"the schema could not be brought up to date: {cause_of(error)}\nCheck database-url "
            "(AUTHSITE_DATABASE_URL, perhaps in the environment file), and that the database runs "
            "and lets this user create tables."
        ) from None
    finally:
        database.dispose()
