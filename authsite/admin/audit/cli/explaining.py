"""``authsite explain``."""

import click

from authsite.admin.audit.explaining import meaning_of
from authsite.admin.audit.rows import facts, in_words
from authsite.oauth.models import Client
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.service import Filter, search
from authsite.platform.command_line.shared import (
    config_option,
    examples,
    json_option,
    print_json,
    transaction,
    visible,
)
from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.users import service as users
from authsite.users.command_line import named


@click.command(epilog=examples("authsite explain ca90fc6bdd7412d304c5b6c4"))
@click.argument("request_id", metavar="REQUEST_ID")
@json_option
@config_option
def explain(cfg: Settings, request_id: str, as_json: bool) -> None:
    """Say what happened in a request, and why it was rejected.

    REQUEST_ID is the value of the header X-Request-Id, which pages with an error show.
    """
    with transaction(cfg) as ctx:
        events = search(ctx.db, Filter(request_id=request_id), limit=100).events
        if not events:
            raise click.ClickException(
                f"no audit event has the request id {request_id!r}. Only security events are "
                "recorded, and a rejection once an hour for each client address. Look for the id "
                "in the log, which has every request that failed."
            )
        if as_json:
            return print_json({"events": facts(ctx.db, events)})
        first = events[0]
        by = f"from {first.address}" if first.address else "by a command"
        head = f"{clock.rfc3339(first.at)} {by}: {first.agent or 'no user agent'}"
        click.echo(visible(head))
        for event in events:
            click.echo(f"\n{visible(event.event)}: {meaning_of(event)}")
            for name, value in _about(ctx, event).items():
                click.echo(f"  {name}: {visible(value)}")


def _about(ctx: Context, event: AuditEvent) -> dict[str, str]:
    """Names of user and client, as far as they exist, and the details."""
    found: dict[str, str] = {}
    if event.user_id:
        user = users.find(ctx.db, str(event.user_id))
        found["user"] = f"{event.user_id} ({named(user) if user else 'deleted'})"
    if event.client_id:
        client = ctx.db.get(Client, event.client_id)
        found["client"] = f"{event.client_id} ({client.name if client else 'deleted'})"
    return found | {name: in_words(each) for name, each in (event.details or {}).items()}
