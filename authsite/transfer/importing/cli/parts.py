"""Import the parts of a source, users and clients, and print what became of their rows."""

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeAlias

import click

from authsite.platform.command_line.private_output import private_file, refuse_overwriting
from authsite.platform.command_line.shared import print_json, session, visible
from authsite.platform.settings import Settings
from authsite.platform.settings.service_urls import sqlite_file
from authsite.transfer.importing import users
from authsite.transfer.importing.before import USERS, Before
from authsite.transfer.importing.report import Report
from authsite.transfer.importing.rows import Source, SourceUnusable
from authsite.transfer.importing.run import WriteRows, run
from authsite.transfer.importing.seen import Seen
from authsite.transfer.importing.sources import open_source

if TYPE_CHECKING:
    from authsite.platform.context import Context


UserReader: TypeAlias = Callable[[Source], users.ReadDraft]
"""Gets the source before its users are read."""


class Options(NamedTuple):
    """What all import commands take."""

    cfg: Settings
    source: str
    users_table: str
    needed: Sequence[str]
    system: str
    confirmed: bool
    without_password: bool
    dry_run: bool
    report: Path | None
    ids: Path | None
    as_json: bool


class Part(NamedTuple):
    """A table of the source, the columns that it must have, and what writes its rows."""

    name: str
    table: str
    needed: Sequence[str]
    write: WriteRows


def import_parts(
    options: Options,
    user_reader: UserReader,
    more: Sequence[Part],
    open_: Callable[[], Source] | None = None,
    *,
    before: Before,
) -> None:
    """Import the users, then the ``more`` parts, and print what became of them.

    ``user_reader`` may read what the rows of the users need first. ``open_``: opens the source, if
    its URL or path does not tell how. ``before`` gets what became of the rows, for parts that refer
    to them. Raises `click.ClickException` for a source, an output or a database that cannot be
    used, and if no row was imported, now or before.
    """
    with ExitStack() as stack:
        seen = Seen() if options.dry_run else None
        if seen:
            stack.callback(seen.close)
        before.seen = seen
        stack.callback(before.close)
        try:
            source = open_() if open_ else open_source(options.source, options.users_table)
            stack.callback(source.close)
            if not source.has(options.users_table):
                raise SourceUnusable(
                    f"the source has no table {options.users_table} with rows: name it with "
                    "--users-table"
                )
            own_file = sqlite_file(options.cfg.database_url.reveal())
            refuse_overwriting((options.report, options.ids), [*source.files, own_file])
            files = [
                stack.enter_context(private_file(path)) if path else None
                for path in (options.report, options.ids)
            ]
            rules = users.Rules(
                options.cfg,
                options.system,
                user_reader(source),
                options.confirmed,
                options.without_password,
                before,
            )
            of_users = Part(
                USERS,
                options.users_table,
                options.needed,
                lambda ctx, rows: users.write(ctx, rules, rows),
            )
            ctx = stack.enter_context(session(options.cfg))
            reports = [_part(ctx, before, source, of_users, files)]
            for part in more:
                if source.has(part.table):
                    reports.append(_part(ctx, before, source, part, files))
                else:
                    click.echo(f"The source has no {part.name} (table {part.table}).", err=True)
        except SourceUnusable as error:
            raise click.ClickException(visible(str(error))) from None
    _print(options, reports)
    if not any(report.taken for report in reports):
        raise click.ClickException(
            "nothing was imported: correct the source, or give other options, and start again"
        )


def _part(
    ctx: "Context", before: Before, source: Source, part: Part, files: Sequence[TextIO | None]
) -> Report:
    _require_columns(source, part)
    report = Report(part.name, *files)
    done = 0

    with click.progressbar(
        length=source.size(part.table), label=part.name, file=sys.stderr
    ) as progress_bar:
        for progress in run(ctx, source.rows(part.table), part.write):
            before.commit(part.name, progress.outcomes)
            report.add(progress.outcomes)
            progress_bar.update(progress.done - done)
            done = progress.done
    report.ignored = source.ignored(part.table)
    return report


def _require_columns(source: Source, part: Part) -> None:
    """Raise `SourceUnusable` if the table lacks a column without which no row can be imported."""
    found = source.columns(part.table)
    missing = [] if found is None else [name for name in part.needed if name not in found]
    if found is not None and missing:
        raise SourceUnusable(
            f"the table {part.table} has no column {' and no column '.join(missing)}, but"
            f" {', '.join(filter(None, found))}: name its columns as in docs/moving.md (in CSV the"
            " first line has the names)"
        )


def _print(options: Options, reports: Sequence[Report]) -> None:
    if options.as_json:
        for line in (line for report in reports for line in report.notes()):
            click.echo(visible(line), err=True)
        counts: dict[str, object] = {report.table: report.counts() for report in reports}
        return print_json({**counts, "dry_run": options.dry_run})
    if options.dry_run:
        click.echo("A dry run: nothing is written. An import would give:")
    for report in reports:
        for line in report.lines():
            click.echo(visible(line))
    refused = sum(report.counts()["refused"] for report in reports)
    if refused and not options.report:
        click.echo("Each row that is not imported is listed with  --report FILE.")
