"""``authsite export``"""

import json
from contextlib import ExitStack
from pathlib import Path

import click

from authsite.platform.audit.events import Event
from authsite.platform.command_line.results import (
    private_output,
    refuse_overwriting,
    whole_private_file,
)
from authsite.platform.command_line.shared import (
    config_option,
    described_services,
    examples,
    json_option,
    print_json,
    session,
)
from authsite.platform.settings import Settings
from authsite.platform.settings.urls import sqlite_file


@click.command(
    epilog=examples(
        "authsite export --output authsite.jsonl",
        "authsite export --schema > export.schema.json",
    )
)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to FILE, readable by its owner only, and print the numbers.",
)
@click.option(
    "--secrets",
    is_flag=True,
    help="With second factors and passkeys. A person with the file can sign in as every user.",
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a line, and nothing else.")
@json_option
@config_option
def export(cfg: Settings, output: Path | None, secrets: bool, schema: bool, as_json: bool) -> None:
    """Users, clients and the audit trail as JSON Lines.

    Users with the hashes of their passwords, clients with those of their secrets, token families
    and the audit trail, all as of one moment. The first line tells the version, the last one the
    numbers. The service may run during this. Not in it: tokens and web sessions, waiting mails,
    pending changes of an address and former addresses, limits, the seals of the audit trail, and
    settings with their keys.

    --secrets adds authenticator apps, with the secrets that are sealed in the database, passkeys
    and recovery codes. Without it, users who move must set up two-step verification again.
    """
    if schema:
        from . import export

        lines = [part.line for part in export.parts_of(described_services())]
        return click.echo(json.dumps(export.schema(lines), indent=2))
    if as_json and not output:
        raise click.UsageError("--json prints the numbers of an export to a file: give --output")
    refuse_overwriting([output], [sqlite_file(cfg.database_url.reveal())])
    from authsite.platform.audit.service import record

    from . import export as exporting

    with ExitStack() as stack:
        file = stack.enter_context(whole_private_file(output)) if output else private_output()
        ctx = stack.enter_context(session(cfg))
        with ctx.db.begin():  # before it: an export that is stopped has also left the system
            record(ctx, Event.DATABASE_EXPORTED)
        for some in exporting.lines(ctx.services, secrets=secrets):
            file.write("\n".join(some) + "\n")
    if not output:
        return
    end = json.loads(some[-1])
    counts = {part: number for part, number in end.items() if part != "type"}
    if as_json:
        return print_json({"file": str(output), **counts})
    numbers = ", ".join(f"{number:,} {part.replace('_', ' ')}" for part, number in counts.items())
    click.echo(f"{output} has {numbers}.")
