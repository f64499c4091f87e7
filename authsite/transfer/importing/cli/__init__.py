"""``authsite import …``"""

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any, Literal

import click

from authsite.oauth.clients import MAX_SCOPE
from authsite.oauth.models import CODE_TYPES
from authsite.platform.command_line.shared import config_option, examples, json_option
from authsite.transfer.importing import (
    allauth,
    clients,
    django,
    factors,
    groups,
    identities,
    own,
    own_factors,
    passport,
    registrations,
    table,
)
from authsite.transfer.importing.before import CLIENTS, GROUPS, Before

from .parts import Options, Part, import_parts

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
    read_draft = partial(allauth.factor, options.cfg)
    more = [_factors(options, before, "factors", allauth.TABLE, read_draft)]
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
@_import_options("csv", table.USERS)
def csv_(options: Options) -> None:
    import_parts(options, lambda _source: table.user, [], before=Before())


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
            ("totp", own_factors.TOTP, own_factors.totp),
            ("passkeys", own_factors.PASSKEYS, own_factors.passkey),
            ("recovery_codes", own_factors.RECOVERY_CODES, own_factors.recovery_code),
        )
        if secrets
    ]
    more += [
        Part(
            identities.IDENTITIES,
            own.IDENTITIES,
            (),
            lambda ctx, rows: identities.write(ctx, before, own.SYSTEM, rows),
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
            lambda ctx, rows: groups.write_groups(ctx, before, own.group, rows),
        ),
        Part(
            "memberships",
            own.MEMBERSHIPS,
            (),
            lambda ctx, rows: groups.write_memberships(
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
