"""``authsite db upgrade``"""

import click

from authsite.settings import Settings

from .shared import config_option


@click.group()
def db() -> None:
    """The database schema."""


@db.command()
@config_option
def upgrade(cfg: Settings) -> None:
    """Bring the schema up to date."""
    click.echo(f"The schema is at revision {upgrade_schema(cfg)}.")


def upgrade_schema(cfg: Settings) -> str | None:
    """Bring the schema up to date; the revision it is at now."""
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.db import migrate, open_database

    database = open_database(cfg.database_url)
    try:
        if migrate.current(database) != migrate.head():
            migrate.upgrade(database)
        return migrate.current(database)
    except SQLAlchemyError as error:
        cause = str(getattr(error, "orig", error)).strip().splitlines()[0]
        raise click.ClickException(
            f"the schema could not be brought up to date: {cause}\nCheck database-url, and that "
            "the database runs and lets this user create tables."
        ) from None
    finally:
        database.dispose()
