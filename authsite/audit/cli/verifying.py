"""``authsite audit verify``."""

from itertools import chain, islice
from typing import Any, TextIO

import click

from authsite.cli.shared import (
    config_option,
    examples,
    json_option,
    open_for,
    print_json,
    visible,
)
from authsite.db.autocommit import snapshot_on
from authsite.settings import Settings

from ..seals import audit_keys
from ..verify import LoggedSeal, Problem, Summary, compare, logged_seal, seals_in_log, verified

MOST_PROBLEMS = 200  # after so many the verification ends


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

    It computes all seals again, and ends with status 1 if one is wrong.

    That the newest events were deleted with their seals shows only in comparison with the log,
    which has every seal: give one with --seal, or the log with --log.
    """
    summary = Summary()
    # Before the transaction: a log that comes from another program may be slow.
    logged = [*map(_logged_seal, seal), *seals_in_log(log_file or ())]
    with (
        open_for(cfg) as database,
        database.autocommit.connect() as connection,
        snapshot_on(connection),
    ):
        found = chain(verified(connection, audit_keys(cfg), summary), compare(connection, logged))
        problems = list(islice(found, MOST_PROBLEMS))
    if as_json:
        print_json(_verified(summary, problems))
    else:
        _print_verified(summary, problems)
    if problems:
        raise SystemExit(1)


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


def _verified(summary: Summary, problems: list[Problem]) -> dict[str, Any]:
    last = summary.last
    return {
        "ok": not problems,
        "seals": summary.seals,
        "events": summary.rows,
        "unsealed": summary.unsealed,
        "newest_seal": last and {"seal": last.id, "mac": last.mac},
        "problems": [each._asdict() for each in problems],
    }
