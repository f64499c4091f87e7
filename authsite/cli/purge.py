"""``authsite purge``"""

import time

import click

from authsite.logs import configure
from authsite.settings import Settings
from authsite.tasks.cleanup import PARTS, steps
from authsite.tasks.leader import Lock, held, own_connection

from .shared import config_option, examples, json_option, open_for, print_json

TICKS = 1000  # of a progress bar


@click.command(
    epilog="\b\nWhat is deleted:\n"
    + "\n".join(f"  {part.label}: {part.when}" for part in PARTS)
    + f"\n\n{examples('authsite purge')}"
)
@json_option
@config_option
def purge(cfg: Settings, as_json: bool) -> None:
    """Delete what has expired.

    It works in small batches, and can be stopped at any time and run again. The servers do the same
    every hour (setting `janitor`). Only one purge runs at a time: if another one is running, this
    command deletes nothing and ends with status 1.
    """
    configure(as_json=cfg.production)  # the seals of the audit trail are written to the log
    deleted = {part.name: 0 for part in PARTS}
    with (
        open_for(cfg) as database,
        own_connection(database) as connection,
        held(connection, Lock.CLEANUP) as free,
    ):
        if not free:
            raise click.ClickException(
                "another purge (of a server, or this command) is at work on this database and "
                "deletes the same rows: there is nothing to do"
            )
        with click.progressbar(length=TICKS * len(PARTS), label="Purging", hidden=as_json) as bar:
            for step in steps(connection, cfg):
                deleted[step.part.name] += step.deleted
                reached = int(TICKS * (PARTS.index(step.part) + step.done))
                bar.update(reached - bar.pos)
                time.sleep(step.rest)
            bar.update(TICKS * len(PARTS) - bar.pos)
    if as_json:
        return print_json(deleted)
    click.echo(f"Deleted {sum(deleted.values())} rows.")
    for part in PARTS:
        if deleted[part.name]:
            click.echo(f"  {part.label}: {deleted[part.name]}")
