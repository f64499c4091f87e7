"""``authsite audit verify`` and ``authsite audit accept-late``."""

import re
from contextlib import suppress
from typing import TextIO

import click
from sqlalchemy.exc import SQLAlchemyError

from authsite.platform.audit.seals.keys import audit_keys
from authsite.platform.audit.seals.late import NotAcceptable, accept
from authsite.platform.audit.seals.verification import MOST_PROBLEMS, note
from authsite.platform.audit.seals.verification import as_json as as_json_object
from authsite.platform.audit.seals.verification import verify as verify_all
from authsite.platform.audit.seals.verify import (
    LoggedSeal,
    Problem,
    Summary,
    logged_seal,
    seals_in_log,
)
from authsite.platform.command_line.shared import (
    config_option,
    examples,
    json_option,
    open_for,
    print_json,
    required_reason_option,
    transaction,
    visible,
)
from authsite.platform.db.autocommit import snapshot_on
from authsite.platform.settings import Settings


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
