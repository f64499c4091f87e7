"""``authsite purge``"""

import time

import click

from authsite.platform.command_line.shared import (
    config_option,
    described_services,
    examples,
    json_option,
    print_json,
    services_of,
)
from authsite.platform.logs import configure
from authsite.platform.settings import Settings
from authsite.platform.tasks.background import Lock, held, own_connection
from authsite.platform.tasks.cleanup import CLEANUPS, steps

TICKS = 1000  # of a progress bar


class PurgeCommand(click.Command):
    """The command, whose help lists what the packages have registered."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what is deleted, and the examples."""
        cleanups = CLEANUPS.of(described_services()).values()
        listed = "\n".join(f"  {each.label}: {each.when}" for each in cleanups)
        whole = click.Command(None, epilog=f"\b\nWhat is deleted:\n{listed}\n\n{self.epilog}")
        whole.format_epilog(ctx, formatter)


@click.command(cls=PurgeCommand, epilog=examples("authsite purge"))
@json_option
@config_option
def purge(cfg: Settings, as_json: bool) -> None:
    """Delete what has expired.

    It works in small batches, and can be stopped at any time and run again. The servers do the same
    every hour (setting `janitor`). Only one purge runs at a time: if another one is running, this
    command deletes nothing and ends with status 1.
    """
    configure(as_json=cfg.production)  # the seals of the audit trail are written to the log
    with (
        services_of(cfg) as services,
        own_connection(services.database) as connection,
        held(connection, Lock.CLEANUP) as free,
    ):
        if not free:
            raise click.ClickException(
                "another purge (of a server, or this command) is at work on this database and "
                "deletes the same rows: there is nothing to do"
            )
        cleanups = CLEANUPS.of(services)
        deleted, names, length = dict.fromkeys(cleanups, 0), list(cleanups), TICKS * len(cleanups)
        with click.progressbar(length=length, label="Purging", hidden=as_json) as bar:
            for step in steps(connection, services):
                deleted[step.cleanup.name] += step.deleted
                reached = int(TICKS * (names.index(step.cleanup.name) + step.done))
                bar.update(reached - bar.pos)
                time.sleep(step.rest)
            bar.update(length - bar.pos)
    if as_json:
        return print_json(deleted)
    click.echo(f"Deleted {sum(deleted.values())} rows.")
    for name, cleanup in cleanups.items():
        if deleted[name]:
            click.echo(f"  {cleanup.label}: {deleted[name]}")
