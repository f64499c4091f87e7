"""``authsite purge``"""

import click

from authsite.settings import Settings

from .shared import config_option, json_option, print_json


@click.command()
@json_option
@config_option
def purge(cfg: Settings, as_json: bool) -> None:
    """Delete token families that can never be used again, in small batches."""
    from authsite import clock
    from authsite.db import open_database
    from authsite.oauth import purge as families

    database = open_database(cfg.database_url)
    try:
        total = families.count(database)
        deleted = 0
        batches = families.purge(database, clock.now(), cfg)
        with click.progressbar(length=total, label="Token families", hidden=as_json) as bar:
            for seen, gone in batches:
                deleted += gone
                bar.update(seen)
    finally:
        database.dispose()
    if as_json:
        return print_json({"families": deleted})
    click.echo(f"Deleted {deleted} of {total} token families.")
