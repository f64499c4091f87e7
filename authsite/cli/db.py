"""``authsite db upgrade``"""

from typing import TYPE_CHECKING

import click

from authsite.settings import Settings

from .shared import cause_of, config_option, examples, json_option, print_json

if TYPE_CHECKING:
    from authsite.db.migrate import SchemaState


@click.group()
def db() -> None:
    """The database schema."""


@db.command(epilog=examples("authsite db upgrade"))
@json_option
@config_option
def upgrade(cfg: Settings, as_json: bool) -> None:
    """Bring the schema up to date.

    A schema that a newer version of authsite has migrated stays as it is.
    """
    schema = upgrade_schema(cfg)
    if as_json:
        return print_json({"revision": schema.revision})
    newer = f", newer than this version of authsite ({schema.head}), which works with it"
    click.echo(f"The schema is at revision {schema.revision}{newer * (schema.status == 'newer')}.")


def upgrade_schema(cfg: Settings) -> "SchemaState":
    """Bring the schema up to date. Returns its state.

    Raises `click.ClickException` if the database cannot be used or has tables with our names.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.db import migrate, open_database

    database = open_database(cfg.database_url)
    try:
        if not migrate.state(database).usable:
            migrate.upgrade(database)
        return migrate.state(database)
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
