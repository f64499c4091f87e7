"""``authsite audit …``, and ``authsite explain``."""

import json
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TextIO, cast
from uuid import UUID

import click
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from authsite.admin.audit import service
from authsite.admin.audit.service import (
    denial_of,
    event_texts,
    explained,
    facts,
    in_words,
    moment,
    reason_names,
)
from authsite.oauth.models import Client
from authsite.platform.audit.events import Event, begins
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.seals.late import NotAcceptable, accept
from authsite.platform.audit.seals.seal import audit_keys
from authsite.platform.audit.seals.verification import (
    MOST_PROBLEMS,
    LoggedSeal,
    Problem,
    Summary,
    logged_seal,
    note,
    seals_in_log,
)
from authsite.platform.audit.seals.verification import as_json as as_json_object
from authsite.platform.audit.seals.verification import verify as verify_all
from authsite.platform.audit.service import Filter, latest_id, search
from authsite.platform.command_line.shared import (
    config_option,
    examples,
    json_option,
    limit_option,
    open_for,
    print_json,
    print_more,
    print_table,
    required_reason_option,
    transaction,
    visible,
)
from authsite.platform.context import Context
from authsite.platform.db.transaction import snapshot_on
from authsite.platform.denied_requests import service as denied_requests
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_id
from authsite.platform.settings import Settings
from authsite.sign_in.failure_reasons import FailureReason
from authsite.users import service as users
from authsite.users.listing import named

# ``authsite explain``.


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


# Follow the audit trail: ``authsite audit list --follow``.


POLL = 1.0  # seconds between two looks
# Ids that are read again: a transaction with a smaller id may be committed later.
OVERLAP = 1000
_AT_ONCE = 10 * OVERLAP  # events of one look
_WIDTHS = (20, 22, 28, 15, 22)  # of columns, whose longest value is not known yet


def follow_events(cfg: Settings, wanted: Filter, limit: int) -> Iterator[dict[str, Any]]:
    """The latest events as `facts`, and then each as soon as it can be seen; until Ctrl-C."""
    with open_for(cfg) as database:
        with Session(database.autocommit) as db:
            newest = latest_id(db)
            found = search(db, wanted, limit).events
            again = wanted._replace(after_id=newest - OVERLAP)
            seen = {each.id for each in [*found, *search(db, again, _AT_ONCE).events]}
            latest = facts(db, found)
        yield from latest
        while True:
            time.sleep(POLL)
            with Session(database.autocommit) as db:
                again = wanted._replace(after_id=newest - OVERLAP)
                newest = latest_id(db)
                found = [e for e in search(db, again, _AT_ONCE).events if e.id not in seen]
                latest = facts(db, found)
            yield from latest
            seen = {id_ for id_ in seen if id_ > newest - OVERLAP} | {each.id for each in found}


def line(cells: Sequence[str]) -> str:
    """A row on one line, with columns of fixed width as far as its values fit."""
    padded = [f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=False)]
    return visible("  ".join([*padded, *cells[len(_WIDTHS) :]]).rstrip())


# Options that choose events.


def user_id_of(db: Session, email_or_id: str | None, named: str = "--user") -> UUID | None:
    """The id of a user, or an id as it was given: the user may be deleted."""
    if email_or_id is None:
        return None
    return service.user_id_of(db, email_or_id) or id_of(email_or_id, named, "user")


def id_of(text: str | None, named: str, group: str) -> UUID | None:
    """The id in the option or argument ``named``, of what the commands of ``group`` list.

    Raises `click.ClickException` for another text.
    """
    if text is None:
        return None
    found = as_id(text)
    if found is None:
        raise click.ClickException(
            f"{named}: nothing has the name or id {text!r}; `authsite {group} list` shows the ids"
        )
    return found


def event_of(text: str | None) -> str | None:
    """The name of an event, or the beginning of names. Raises `click.ClickException`."""
    if text and not begins(text):
        groups = sorted({event.partition(".")[0] for event in Event})
        raise click.ClickException(
            f"--event: no event begins with {text!r}; they begin with {', '.join(groups)}"
        )
    return text


def _moment(_ctx: click.Context, _option: click.Parameter, text: str | None) -> datetime | None:
    """A point in time: so long ago, or a date."""
    if text is None:
        return None
    found = moment(text)
    if found is None:
        raise click.ClickException(
            f"--since: {text!r} is neither a duration (90m, 24h, 7d) nor a date (2026-05-31)"
        )
    return found


since_option: Callable[[Any], Any] = click.option(
    "--since",
    metavar="TIME",
    callback=_moment,
    help="A duration such as 24h or 7d, or a date in UTC.",
)


# ``authsite audit logins``.


# A login on the page, with an application, and each that failed.
LOGINS: tuple[Event, ...] = (Event.SESSION_BEGUN, Event.TOKEN_ISSUED, Event.LOGIN_FAILED)
RESULTS: Mapping[FailureReason, str] = {
    FailureReason.DENIED: "failed: denied",
    FailureReason.DISABLED: "failed: the user is disabled",
    FailureReason.LOCKED: "failed: locked",
    FailureReason.UNCONFIRMED: "failed: not confirmed",
    FailureReason.WRONG_PASSWORD: "failed: wrong password",
}


@click.command(
    epilog=examples(
        "authsite audit logins ann@example.com",
        "authsite audit logins ann@example.com --since 7d --json",
    )
)
@click.argument("user", metavar="EMAIL_OR_ID")
@since_option
@limit_option
@json_option
@config_option
def logins(cfg: Settings, user: str, since: Any, limit: int, as_json: bool) -> None:
    """List the logins of a user.

    Successful and failed ones, on the login page ("page") and with an application (its name), the
    newest first. Of a failed login it says why; the person who tried was not told.
    """
    with transaction(cfg) as ctx:
        user_id = user_id_of(ctx.db, user, "EMAIL_OR_ID")
        wanted = Filter(user_id=user_id, events=LOGINS, since=since)
        found = search(ctx.db, wanted, limit)
        rows = [_login(each) for each in reversed(facts(ctx.db, found.events))]
    if as_json:
        return print_json({"logins": rows, "total": found.total})
    columns = ("at", "result", "with", "address", "device")
    table = [
        (row["at"], _result(row), row["with"], row["address"] or "–", row["device"] or "–")
        for row in rows
    ]
    print_table(columns, table, empty="No login of this user is recorded.")
    print_more(found.total - len(rows))


def _login(row: Mapping[str, Any]) -> dict[str, Any]:
    """An event of `facts` as a login."""
    client = row["client"] or row["client_id"]
    return {
        "at": row["at"],
        "succeeded": row["event"] != Event.LOGIN_FAILED,
        "reason": row["details"].get("reason"),
        "with": client or "page",
        "client_id": row["client_id"],
        "address": row["address"],
        "device": row["device"],
        "request_id": row["request_id"],
    }


def _result(row: Mapping[str, Any]) -> str:
    if row["succeeded"]:
        return "succeeded"
    return RESULTS.get(cast(FailureReason, row["reason"]), "failed")


# Audit events as rows for people.


COLUMNS = ("at", "event", "e-mail", "address", "device", "details")
ID_COLUMNS = ("at", "event", "user", "client", "address", "request", "details")


def cells(row: Mapping[str, Any], *, ids: bool = False) -> tuple[str, ...]:
    """The cells of a row under `COLUMNS`, with ``ids`` under `ID_COLUMNS`."""
    details = [f"{name}={in_words(value)}" for name, value in row["details"].items()]
    if ids:
        names = ("at", "event", "user_id", "client_id", "address", "request_id")
        return (*(row[name] or "–" for name in names), ", ".join(details))
    if row["client"]:
        details.insert(0, f"client={row['client']}")
    email = row["email"] or ("(deleted)" if row["user_id"] else "–")
    shown = (row["at"], row["event"], email, row["address"] or "–", row["device"] or "–")
    return (*shown, ", ".join(details))


# ``authsite audit list``.


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


# ``authsite audit verify`` and ``authsite audit accept-late``.


@click.command(
    epilog=examples(
        "authsite audit verify",
        "journalctl -o cat -u authsite | authsite audit verify --log -",
    )
)
@click.option("--seal", metavar="ID:MAC", multiple=True, help="A seal that the log has.")
@click.option(
    "--log",
    "log_file",
    type=click.File(encoding="utf-8", errors="replace"),  # other lines may have any bytes
    help="A file with lines of the log, or -.",
)
@json_option
@config_option
def verify(cfg: Settings, seal: tuple[str, ...], log_file: TextIO | None, as_json: bool) -> None:
    """Find events that were changed, deleted or added.

    It computes all seals again, and ends with status 1 if one is wrong, or was made over an hour
    after its oldest event and not accepted (`authsite audit accept-late`).

    That the newest events were deleted with their seals shows only in comparison with the log,
    which has every seal: give one with --seal, or the log with --log.
    """
    # Before the transaction: a log that comes from another program may be slow.
    logged = [*map(_logged_seal, seal), *seals_in_log(log_file or ())]
    with (
        open_for(cfg) as database,
        database.autocommit.connect() as connection,
        snapshot_on(connection),
    ):
        keys = audit_keys(cfg)
        summary, problems = verify_all(connection, keys, logged)
    _note(cfg, summary, len(problems))
    if as_json:
        print_json(as_json_object(summary, problems))
    else:
        _print_verified(summary, problems)
    if problems:
        raise SystemExit(1)


def _note(cfg: Settings, summary: Summary, problems: int) -> None:
    """Store the result for the console. A role that may only read has verified nevertheless."""
    with (
        suppress(SQLAlchemyError, click.ClickException),
        open_for(cfg) as database,
        database.autocommit.connect() as connection,
    ):
        note(connection, audit_keys(cfg), summary, problems)


@click.command(
    "accept-late",
    epilog=examples(
        'authsite audit accept-late 7 --reason "The service was stopped for a day."',
        'authsite audit accept-late 1-12 --reason "Upgrade from a version without seals."',
    ),
)
@click.argument("seals", metavar="SEAL...", nargs=-1, required=True)
@required_reason_option("Why no process sealed for so long.")
@json_option
@config_option
def accept_late(cfg: Settings, seals: tuple[str, ...], reason: str, as_json: bool) -> None:
    """Accept a seal that was made over an hour after its events.

    SEAL is its number, or several: 1-12. Accept it only if you know why no process sealed for so
    long. Otherwise compare with the log first (`authsite audit verify --log`): a person who may
    write to the database may have deleted seals, so that authsite has sealed changed events. The
    acceptance is an event of the audit trail, and holds for this very seal.
    """
    numbers = [number for text in seals for number in _numbers(text)]
    try:
        with transaction(cfg) as ctx:
            accepted = [number for number in numbers if accept(ctx, number, reason)]
    except NotAcceptable as error:
        raise click.ClickException(
            f"{error}; `authsite audit verify` lists the late ones"
        ) from None
    if as_json:
        return print_json({"accepted": accepted})
    for number in numbers:
        click.echo(f"Seal {number} {'is' if number in accepted else 'was already'} accepted.")


def _numbers(text: str) -> range:
    """The numbers in ``7`` or ``1-12``."""
    found = re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", text)
    if found is None:
        raise click.ClickException(f"{text!r} is not the number of a seal, such as 7, or 1-12")
    first, last = int(found[1]), int(found[2] or found[1])
    return range(first, last + 1)


def _print_verified(summary: Summary, problems: list[Problem]) -> None:
    for problem in problems:
        click.secho(visible(_problem_line(problem)), fg="red")
    if len(problems) == MOST_PROBLEMS:
        click.echo(f"Stopped after {MOST_PROBLEMS} problems.")
    click.echo(f"{summary.seals} seals of {summary.rows} events; {summary.unsealed} newer events.")
    if summary.last:
        click.echo(f"The newest seal is {summary.last.id}:{summary.last.mac}")
    if not problems:
        click.echo("No sealed event was changed, deleted or added.")


def _logged_seal(text: str) -> LoggedSeal:
    id_, _, mac = text.partition(":")
    found = logged_seal(id_, mac)
    if found is None:
        raise click.ClickException(
            f"--seal: {text!r} is not the number of a seal, a colon and its MAC, as the log has"
            " them in `seal` and `mac`"
        )
    return found


def _problem_line(problem: Problem) -> str:
    where = [f"Seal {problem.seal}"] if problem.seal is not None else ["Not sealed"]
    if problem.last_id is not None:
        where.append(f"events {problem.first_id or '…'} to {problem.last_id}")
    if problem.until:
        where.append(f"until {problem.until}")
    return f"{', '.join(where)}: {problem.text}."


__all__ = ["audit", "explain"]


@click.group()
def audit() -> None:
    """The audit trail."""


audit.add_command(list_)
audit.add_command(logins)
audit.add_command(verify)
audit.add_command(accept_late)
