"""``authsite import …``"""

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO, TypeAlias

import click

from authsite.oauth.clients.service import MAX_SCOPE
from authsite.oauth.models import CODE_TYPES
from authsite.platform.command_line.results import private_file, refuse_overwriting
from authsite.platform.command_line.shared import (
    config_option,
    examples,
    json_option,
    print_json,
    session,
    visible,
)
from authsite.platform.settings import Settings
from authsite.platform.settings.urls import sqlite_file
from authsite.transfer.importing import (
    clients,
    django,
    factors,
    own,
    passport,
    registrations,
    sources,
    users,
)
from authsite.transfer.importing.before import CLIENTS, GROUPS, USERS, Before
from authsite.transfer.importing.report import Report
from authsite.transfer.importing.rows import Seen, Source, SourceUnusable
from authsite.transfer.importing.run import WriteRows, run
from authsite.transfer.importing.sources import open_source

if TYPE_CHECKING:
    from authsite.platform.context import Context


# Import the parts of a source, users and clients, and print what became of their rows.


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


SOURCES = (
    "SOURCE is the URL of a database (postgresql://…, mysql+pymysql://…, sqlite:///…), a dump of "
    "mysqldump, mariadb-dump or pg_dump, a CSV file, or a folder with a CSV file for each table; "
    "also in the environment as IMPORT_SOURCE."
)


# The columns without which no row of users is imported; a file of ours has none.
NEEDED = {"passport": ("id", "email"), "django": ("id", "email"), "csv": ("email",)}
OWN = own.SYSTEM  # the kind of import whose source is a file of `authsite export`


@click.group("import")
def import_() -> None:
    """Users and clients of another system."""


def _import_options(system: str, users_table: str) -> Callable[[Callable[..., None]], Any]:
    """Add the options of every import; the command gets them as one value."""
    file = click.Path(dir_okay=False, path_type=Path)
    options = [
        click.argument("source", metavar="SOURCE", envvar="IMPORT_SOURCE"),
        click.option("--dry-run", is_flag=True, help="Check every row, and write nothing."),
        click.option(
            "--report", type=file, help="Write a line of JSON for each row that is not imported."
        ),
        click.option(
            "--ids", type=file, help="Write the old and the new id of each row that is, as CSV."
        ),
        click.option(
            "--without-password",
            is_flag=True,
            help="Import a user without password if the hash cannot be verified.",
        ),
        json_option,
    ]
    fixed = {
        "system": system,
        "users_table": users_table,
        "needed": NEEDED.get(system, ()),
        "confirmed": False,
    }
    if system != OWN:
        options += [
            click.option(
                "--users-table",
                metavar="NAME",
                default=users_table,
                show_default=True,
                help="The table of users.",
            ),
            click.option(
                "--system",
                metavar="NAME",
                default=system,
                show_default=True,
                help="Whose ids the rows have: another name for a second system of this kind.",
            ),
            click.option("--confirmed", is_flag=True, help="Every e-mail address is confirmed."),
        ]

    def decorate(command: Callable[..., None]) -> Any:
        @wraps(command)
        def with_options(**given: Any) -> None:
            names = {**fixed, **{key: given.pop(key) for key in Options._fields if key in given}}
            command(Options(**names), **given)

        with_any: Any = config_option(with_options)
        for option in reversed(options):
            with_any = option(with_any)
        return with_any

    return decorate


@import_.command(
    "passport",
    help=f"""Import users and clients of Laravel Passport (Apiato).

    Users log in with their passwords, and applications with their client ids and secrets. Tokens
    are not imported. {SOURCES}
    """,
    epilog=examples(
        "authsite import passport shop.sql --dry-run --report refused.jsonl",
        "authsite import passport mysql+pymysql://reader@db.example.com/shop",
    ),
)
@_import_options("passport", passport.USERS)
@click.option(
    "--client-scope",
    metavar="SCOPES",
    help="What each client may ask for; by default all of authsite.scopes for clients that sign "
    "users in, as in Passport, and nothing for those with client credentials alone.",
)
@click.option(
    "--client-secrets",
    type=click.Choice(["sha256", "plain"]),
    help="What client secrets of 64 hexadecimal digits are; without it, they are not imported.",
)
@click.option(
    "--clients-with-redirect",
    is_flag=True,
    help="Import clients with a redirect URL and without the password grant for client "
    "credentials, not for authorization codes (before Passport 13, which says what a client is "
    "for).",
)
def passport_(
    options: Options,
    client_scope: str | None,
    client_secrets: Literal["sha256", "plain"] | None,
    clients_with_redirect: bool,
) -> None:
    cfg = options.cfg
    scope = " ".join(cfg.scopes) if client_scope is None else " ".join(client_scope.split())
    unknown = set(scope.split()) - set(cfg.scopes)
    if len(scope) > MAX_SCOPE:
        raise click.UsageError(f"--client-scope: give at most {MAX_SCOPE} characters")
    if unknown:
        raise click.UsageError(
            f"--client-scope: authsite.scopes lacks {', '.join(sorted(unknown))}"
        )
    scopes = {
        **dict.fromkeys(("password", *CODE_TYPES), scope),
        "personal": "" if client_scope is None else scope,
    }
    before = Before()
    of_clients = passport.ClientOptions(scopes, client_secrets, clients_with_redirect)
    import_parts(
        options,
        lambda _source: passport.user,
        [_clients(options, before, passport.CLIENTS, partial(passport.client, of_clients))],
        before=before,
    )


@import_.command(
    "django",
    help=f"""Import the users of a Django project.

    Users log in with their passwords. Where django-allauth is installed, its table
    account_emailaddress decides which addresses are confirmed, whatever --confirmed says. {SOURCES}

    --factors also imports the authenticator apps and passkeys of django-allauth (table
    mfa_authenticator): secrets that are not encrypted, and passkeys of the same RP ID. Recovery
    codes are not imported.
    """,
    epilog=examples(
        "authsite import django postgresql://reader@db.example.com/shop --confirmed --factors",
        "authsite import django auth_user.csv --dry-run",
    ),
)
@_import_options("django", django.USERS)
@click.option(
    "--factors", "with_factors", is_flag=True, help="Also authenticator apps and passkeys."
)
def django_(options: Options, with_factors: bool) -> None:
    before = Before()
    read_draft = partial(django.factor, options.cfg)
    more = [_factors(options, before, "factors", django.TABLE, read_draft)]
    import_parts(
        options,
        partial(django.user_reader, options.users_table),
        more if with_factors else [],
        before=before,
    )


@import_.command(
    "csv",
    help=f"""Import users from CSV with the columns of docs/moving.md.

    Only `email` is required. {SOURCES}
    """,
    epilog=examples("authsite import csv users.csv --report refused.jsonl --ids ids.csv"),
)
@_import_options("csv", sources.USERS)
def csv_(options: Options) -> None:
    import_parts(options, lambda _source: sources.user, [], before=Before())


@import_.command(
    OWN,
    help="""Import users, clients and groups of another authsite.

    SOURCE is a file of `authsite export`. Ids, passwords, client secrets and the identities with
    which users sign in at other providers stay, and the second factors of an export with
    --secrets; the audit trail, sign-ins, and who is an administrator are not imported.
    """,
    epilog=examples("authsite import authsite authsite.jsonl --dry-run"),
)
@_import_options(OWN, own.USERS)
def own_(options: Options) -> None:
    before = Before()
    secrets = own.has_secrets(options.source)
    more = [
        _factors(options, before, *each)
        for each in (
            ("totp", own.TOTP, own.totp),
            ("passkeys", own.PASSKEYS, own.passkey),
            ("recovery_codes", own.RECOVERY_CODES, own.recovery_code),
        )
        if secrets
    ]
    more += [
        Part(
            registrations.IDENTITIES,
            own.IDENTITIES,
            (),
            lambda ctx, rows: registrations.write(ctx, before, own.SYSTEM, rows),
        ),
        _clients(options, before, own.CLIENTS, own.client),
        Part(
            "resources",
            own.RESOURCES,
            (),
            lambda ctx, rows: registrations.write_resources(ctx, before, own.resource, rows),
        ),
        Part(
            "client_uris",
            own.CLIENT_URIS,
            (),
            lambda ctx, rows: registrations.write_uris(ctx, before, own.client_uri, rows),
        ),
        Part(
            GROUPS,
            own.GROUPS,
            (),
            lambda ctx, rows: registrations.write_groups(ctx, before, own.group, rows),
        ),
        Part(
            "memberships",
            own.MEMBERSHIPS,
            (),
            lambda ctx, rows: registrations.write_memberships(
                ctx, before, own.SYSTEM, own.membership, rows
            ),
        ),
    ]
    read_user = partial(own.user, secrets=secrets)
    import_parts(
        options,
        lambda _source: read_user,
        more,
        lambda: own.ExportSource(options.source),
        before=before,
    )


def _factors(
    options: Options, before: Before, name: str, table: str, read_draft: factors.ReadFactor
) -> Part:
    rules = factors.Rules(options.system, name, read_draft, after_password=name == "factors")
    return Part(name, table, (), lambda ctx, rows: factors.write(ctx, before, rules, rows))


def _clients(options: Options, before: Before, table: str, read_draft: clients.ReadDraft) -> Part:
    rules = clients.Rules(options.system, read_draft, options.cfg.bcrypt_cost, before)
    needed = ("id", "name")
    return Part(CLIENTS, table, needed, lambda ctx, rows: clients.write(ctx, rules, rows))
