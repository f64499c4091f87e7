"""``authsite audit list``."""

import json
import sys
from contextlib import suppress
from typing import Any

import click

from authsite.admin.audit.rows import facts
from authsite.platform.audit.service import Filter, search
from authsite.platform.command_line.shared import (
    config_option,
    examples,
    json_option,
    limit_option,
    print_json,
    print_more,
    print_table,
    transaction,
)
from authsite.platform.settings import Settings

from .following import follow_events, line
from .options import event_of, id_of, since_option, user_id_of
from .rows import COLUMNS, ID_COLUMNS, cells


@click.command(
    "list",
    epilog=examples(
        "authsite audit list --user ann@example.com",
        "authsite audit list --event login.failed --since 24h",
        "authsite audit list --address 203.0.113.7 --since 2026-05-01 --json",
        "authsite audit list --event login --follow",
    ),
)
@click.option("--user", metavar="EMAIL_OR_ID", help="Only events of this user, also a deleted one.")
@click.option("--client", metavar="ID", help="Only events of this client.")
@click.option(
    "--event",
    metavar="NAME",
    help="Only these: login.failed, or login for login.….",
)
@click.option("--address", metavar="IP", help="Only events from this client address.")
@since_option
@click.option("--ids", is_flag=True, help="Show the ids of user, client and request.")
@click.option("--follow", is_flag=True, help="Go on with what happens, until Ctrl-C.")
@limit_option
@json_option
@config_option
def list_(cfg: Settings, ids: bool, follow: bool, limit: int, as_json: bool, **chosen: Any) -> None:
    """List the latest events.

    On a terminal the newest comes first, else last. With --follow the newest always comes last, and
    --json prints one object for each event.
    """
    with transaction(cfg) as ctx:
        wanted = Filter(
            user_id=user_id_of(ctx.db, chosen["user"]),
            client_id=id_of(chosen["client"], "--client", "client"),
            event=event_of(chosen["event"]),
            address=chosen["address"],
            since=chosen["since"],
        )
        if not follow:
            found = search(ctx.db, wanted, limit)
            rows = facts(ctx.db, found.events)
    if follow:
        with suppress(KeyboardInterrupt):
            for row in follow_events(cfg, wanted, limit):
                click.echo(json.dumps(row) if as_json else line(cells(row, ids=ids)))
        return
    if as_json:
        return print_json({"events": rows, "total": found.total})
    if sys.stdout.isatty():
        rows.reverse()
    table = [cells(row, ids=ids) for row in rows]
    print_table(ID_COLUMNS if ids else COLUMNS, table, empty="No event matches.")
    print_more(found.total - len(rows))
