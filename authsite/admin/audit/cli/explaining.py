"""``authsite explain``."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

import click

from authsite.admin.audit.explaining import denial_of, event_texts, explained, reason_names
from authsite.admin.audit.rows import in_words
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
from authsite.platform.denied_requests import service as denied_requests
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
        denied = denied_requests.find(ctx.db, request_id)
        if not events and not denied:
            raise click.ClickException(
                f"no request has the id {request_id!r}, of those that were denied in the last seven"
                " days or are in the audit trail. Where an address sends very many, only the first "
                "of each hour are stored: look for the id in the log, which has every request that "
                "failed."
            )
        denials = [denial_of(ctx.services, each) for each in denied]
        if as_json:
            return print_json({"events": explained(ctx, events), "denied": denials})
        first = events[0] if events else denied[0]
        by = f"from {first.address}" if first.address else "by a command"
        agent = (events[0].agent or "no user agent") if events else denied[0].route
        click.echo(visible(f"{clock.rfc3339(first.at)} {by}: {agent}"))
        answers = {each["reason"]: _lines_of(ctx, each) for each in denials}
        for event in events:
            texts = event_texts(ctx.services, event, answers)
            click.echo(f"\n{visible(event.event)}: {texts['meaning']}")
            lines = {**_about(ctx, event), **_advice(texts)}
            _print_lines(_besides(lines, reason_names(event), answers))
        for each in denials:
            title = f"{each['route']} {each['status']} {each['error']}"
            click.echo(f"\n{visible(title)}: {each['meaning']}")
            _print_lines(answers[each["reason"]])


def _lines_of(ctx: Context, denial: Mapping[str, Any]) -> dict[str, str]:
    """Why a request was denied, what was answered, and what to tell whom."""
    lines = {"reason": denial["reason"], **denial["details"]}
    if denial["client_id"]:
        lines = {"client": _client(ctx, UUID(denial["client_id"])), **lines}
    advice = _advice(denial)
    if denial["developer"] == denial["answer"]:
        del advice["tell the developer"]
    return {**lines, "answer": denial["answer"], **advice}


def _advice(texts: Mapping[str, str]) -> dict[str, str]:
    """What to tell whom, of an event or a denied request."""
    return {"tell the person": texts["person"], "tell the developer": texts["developer"]}


def _besides(
    lines: Mapping[str, str], reasons: Collection[str], answers: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """The lines of an event without those that the denied request of the same reason has."""
    shown = [answers[reason] for reason in reasons if reason in answers]
    if not shown:
        return dict(lines)
    return {
        name: value
        for name, value in lines.items()
        if name not in ("reason", "error") and all(each.get(name) != value for each in shown)
    }


def _print_lines(lines: Mapping[str, str]) -> None:
    for name, value in lines.items():
        if value:
            click.echo(f"  {name}: {visible(value)}")


def _client(ctx: Context, id_: UUID) -> str:
    client = ctx.db.get(Client, id_)
    return f"{id_} ({client.name if client else 'deleted'})"


def _about(ctx: Context, event: AuditEvent) -> dict[str, str]:
    """Names of user and client, as far as they exist, and the details."""
    found: dict[str, str] = {}
    if event.user_id:
        user = users.find(ctx.db, str(event.user_id))
        found["user"] = f"{event.user_id} ({named(user) if user else 'deleted'})"
    if event.client_id:
        found["client"] = _client(ctx, event.client_id)
    return found | {name: in_words(each) for name, each in (event.details or {}).items()}
