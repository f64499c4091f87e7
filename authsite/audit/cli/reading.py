"""``authsite audit list`` and ``authsite explain``."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast, get_args
from uuid import UUID

import click
from sqlalchemy.orm import Session

from authsite import clock
from authsite.cli.shared import (
    config_option,
    examples,
    json_option,
    limit_option,
    print_json,
    print_more,
    print_table,
    transaction,
    visible,
)
from authsite.context import Context
from authsite.ids import as_id
from authsite.oauth.models import Client
from authsite.settings import Settings
from authsite.settings.durations import CENTURY, duration
from authsite.users import service as users

from ..events import FAILURES, MEANINGS, EventName, FailureReason
from ..models import AuditEvent
from ..service import Filter, search


@click.command(
    "list",
    epilog=examples(
        "authsite audit list --user ann@example.com",
        "authsite audit list --event login.failed --since 24h",
        "authsite audit list --address 203.0.113.7 --since 2026-05-01 --json",
    ),
)
@click.option("--user", metavar="EMAIL_OR_ID", help="Only events of this user, also a deleted one.")
@click.option("--client", metavar="ID", help="Only events of this client.")
@click.option("--event", metavar="NAME", help="Only these: login.failed, or login for login.….")
@click.option("--address", metavar="IP", help="Only events from this client address.")
@click.option("--since", metavar="TIME", help="A duration such as 24h or 7d, or a date in UTC.")
@limit_option
@json_option
@config_option
def list_(cfg: Settings, limit: int, as_json: bool, **chosen: str | None) -> None:
    """List the latest events, the newest last."""
    with transaction(cfg) as ctx:
        wanted = Filter(
            user_id=_user_id(ctx.db, chosen["user"]),
            client_id=_id_of(chosen["client"], "--client"),
            event=_event(chosen["event"]),
            address=chosen["address"],
            since=_moment(chosen["since"]),
        )
        found = search(ctx.db, wanted, limit)
        rows = [_facts(event) for event in found.events]
    if as_json:
        return print_json({"events": rows, "total": found.total})
    columns = ("at", "event", "user", "client", "address", "request", "details")
    print_table(columns, [_cells(row) for row in rows], empty="No event matches.")
    print_more(found.total - len(rows))


@click.command(epilog=examples("authsite explain 1f7c3a52-9d0e-4b5e-8f6e-2c0a4d1b7e33"))
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
            return print_json({"events": [_facts(event) for event in events]})
        first = events[0]
        by = f"from {first.address}" if first.address else "by a command"
        head = f"{clock.rfc3339(first.at)} {by}: {first.agent or 'no user agent'}"
        click.echo(visible(head))
        for event in events:
            click.echo(f"\n{visible(event.event)}: {_meaning(event)}")
            for name, value in _about(ctx, event).items():
                click.echo(f"  {name}: {visible(value)}")


def _meaning(event: AuditEvent) -> str:
    """What the event means, and for a failed login why it failed."""
    meaning = MEANINGS.get(cast(EventName, event.event), "This version does not know the event.")
    reason = (event.details or {}).get("reason")
    if event.event != "login.failed" or reason not in FAILURES:
        return meaning
    return f"{meaning} {FAILURES[cast(FailureReason, reason)]}"


def _about(ctx: Context, event: AuditEvent) -> dict[str, str]:
    """Names of user and client, as far as they exist, and the details."""
    found: dict[str, str] = {}
    if event.user_id:
        user = users.find(ctx.db, str(event.user_id))
        found["user"] = f"{event.user_id} ({user.email if user else 'deleted'})"
    if event.client_id:
        client = ctx.db.get(Client, event.client_id)
        found["client"] = f"{event.client_id} ({client.name if client else 'deleted'})"
    return found | (event.details or {})


def _facts(event: AuditEvent) -> dict[str, Any]:
    return {
        "at": clock.rfc3339(event.at),
        "event": event.event,
        "user_id": str(event.user_id) if event.user_id else None,
        "client_id": str(event.client_id) if event.client_id else None,
        "address": event.address,
        "agent": event.agent,
        "request_id": event.request_id,
        "details": event.details or {},
    }


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("at", "event", "user_id", "client_id", "address", "request_id")
    details = ", ".join(f"{name}={value}" for name, value in row["details"].items())
    return (*(row[name] or "–" for name in names), details)


def _user_id(db: Session, email_or_id: str | None) -> UUID | None:
    """The id of a user, or an id as it was given: the user may be deleted."""
    if email_or_id is None:
        return None
    found = users.find(db, email_or_id)
    return found.id if found else _id_of(email_or_id, "--user")


def _id_of(text: str | None, option: str) -> UUID | None:
    if text is None:
        return None
    found = as_id(text)
    if found is None:
        list_all = f"authsite {option.removeprefix('--')} list"
        raise click.ClickException(
            f"{option}: nothing has the name or id {text!r}; `{list_all}` shows the ids"
        )
    return found


def _event(text: str | None) -> str | None:
    names = get_args(EventName)
    if text and not any(name.startswith(text) for name in names):
        groups = sorted({name.partition(".")[0] for name in names})
        raise click.ClickException(
            f"--event: no event begins with {text!r}; they begin with {', '.join(groups)}"
        )
    return text


def _moment(text: str | None) -> datetime | None:
    """A point in time: so long ago, or a date."""
    if text is None:
        return None
    try:
        return clock.now() - duration(CENTURY)(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.ClickException(
            f"--since: {text!r} is neither a duration (90m, 24h, 7d) nor a date (2026-05-31)"
        ) from None
