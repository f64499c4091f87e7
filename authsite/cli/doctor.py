"""``authsite doctor``: reports errors in the set-up, and what to change before production."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from authsite.settings import Settings, SettingsError, environment, folder_of, load, read_ini
from authsite.settings.files import exposed, folder_errors, private_paths
from authsite.settings.load import check_start
from authsite.settings.sources import unknown_variables
from authsite.settings.unsafe_choices import RULES

from .shared import cause_of, config_path, examples, ini_option, json_option, print_json
from .starting import application_error, other_program

if TYPE_CHECKING:
    from authsite.db import Database


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    ``state``: ``ok``; ``change`` before production; ``wrong``: an error that has an effect.
    """

    state: str
    subject: str
    message: str


MARKS = {"ok": ("ok", "green"), "change": ("change", "yellow"), "wrong": ("WRONG", "red")}

PRODUCTION_MARKS = {
    "ok": ("OK", "green"),
    "change": ("WARNING", "yellow"),
    "wrong": ("ERROR", "red"),
}
# The levels (and names) of rules that are an error if they are broken.
LENIENT = ("start",)
STRICT = ("start", "refused", "required", "production-off")

# The state and the message of each line, except those of `RULES`.
LINES: Mapping[str, tuple[str, str]] = {
    "settings-understood": ("ok", "{path} and the environment are understood"),
    "settings-wrong": ("wrong", "{error}"),
    "variable-unknown": ("wrong", "is not a setting and is ignored: check its spelling"),
    "file-private": ("ok", "only its owner can read it"),
    "file-exposed": ("wrong", "{advice}"),
    "application-wrong": ("wrong", "it does not start: {error}"),
    "schema-missing": ("wrong", "there is no schema: run `authsite init` or `authsite db upgrade`"),
    "schema-behind": (
        "wrong",
        "the schema is at {current}, the code needs {head}: run `authsite db upgrade`",
    ),
    "schema-current": ("ok", "reachable, schema at {current}"),
    "schema-newer": (
        "ok",
        "reachable, schema at {current}, newer than this version ({head}), which works with it",
    ),
    "database-unusable": ("wrong", "not usable: {cause}"),
    "database-superuser": ("change", "{advice}"),
    "database-untimed": (
        "change",
        "statements have no time limit, since a pooler does not pass on ours: give the role its "
        "timeouts (docs/high-availability.md, PgBouncer)",
    ),
    "audit-changed": (
        "wrong",
        "old events are not deleted, since seal {seal} does not verify ({text}): run `authsite "
        "audit verify` (docs/audit.md)",
    ),
    "audit-late": (
        "wrong",
        "seal {seal}{more} was made over an hour after its events: seals may have been deleted and "
        "made again. `authsite audit verify` says which events, `authsite audit accept-late` "
        "accepts it if no process sealed for so long (docs/audit.md)",
    ),
    "audit-key-lost": (
        "change",
        "is empty, so that seals of the audit trail do not verify after the oldest secret is "
        "removed: rotate with `authsite secret rotate`, which writes it (docs/operations.md)",
    ),
    "secret-other": ("wrong", "{error}"),
    "client-none": ("wrong", "no proxy client is set: run `authsite init`"),
    "client-unknown": (
        "wrong",
        "the database has no enabled client with this id and secret: make one with "
        "`authsite client create --type password`, or rotate its secret",
    ),
    "client-good": ("ok", "the proxy's credentials are valid"),
    "client-type": ("wrong", "the client is of type {type}, not password"),
    "registration-unconfirmed": (
        "change",
        "users without a confirmed e-mail address: {count}. With domains they can do nothing until "
        "they open the link in our mail (`authsite user confirm` confirms one of them)",
    ),
    "registration-other-domains": (
        "change",
        "users with an e-mail address of another domain: {count}. They go on as before "
        "(`authsite user disable` ends one of them)",
    ),
    "key-fine": ("ok", "ready for production"),
}


@click.command(
    epilog=examples(
        "authsite doctor",
        "authsite doctor --config production.ini --json",
        "authsite doctor --config production.ini --production",
    )
)
@ini_option
@click.option(
    "--production",
    is_flag=True,
    help="Try out what production needs, too: database and mail server, clock, disk, hashing.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    help="With --production: the processes of `authsite serve`. Default: one for each core.",
)
@click.option("--verbose", is_flag=True, help="List what is fine, too.")
@json_option
def doctor(
    config: str | None, production: bool, workers: int | None, verbose: bool, as_json: bool
) -> None:
    """Check the set-up, for now and for production.

    Lists what is wrong, then what to change before production. Ends with status 1 if something is
    wrong. With --production this includes all with which production would not start.
    """
    if workers and not production:
        raise click.UsageError("--workers needs --production")
    findings = list(examine(config, production=production, workers=workers))
    if as_json:
        print_json({"findings": [vars(finding) for finding in findings]})
    else:
        _print(findings, PRODUCTION_MARKS if production else MARKS, verbose=verbose)
        click.echo(last_line(findings, production=production))
    if any(finding.state == "wrong" for finding in findings):
        raise SystemExit(1)


def _print(
    findings: Sequence[Finding], marks: Mapping[str, tuple[str, str]], *, verbose: bool
) -> None:
    """Print the problems, the worst first; what is fine only if it is ``verbose``."""
    width = max(len(mark) for mark, _ in marks.values())
    for state in ("wrong", "change", *(["ok"] if verbose else [])):
        mark, color = marks[state]
        styled = click.style(f"{mark:<{width}}", fg=color)
        for finding in findings:
            if finding.state == state:
                click.echo(f"{styled}  {finding.subject}: {finding.message}")
    fine = sum(finding.state == "ok" for finding in findings)
    if fine and not verbose:
        click.echo(f"{fine} more {'is' if fine == 1 else 'are'} fine: --verbose")


def last_line(findings: Sequence[Finding], *, production: bool) -> str:
    """The last line of the report."""
    states = [finding.state for finding in findings]
    errors, warnings = states.count("wrong"), states.count("change")
    if not production:
        return f"{errors} wrong, {warnings} to change before production"
    ready = "not ready" if errors else "ready"
    return f"{errors} errors, {warnings} warnings: {ready} for production"


def examine(
    config: str | None,
    *,
    production: bool = False,
    workers: int | None = None,
    application: bool = True,
) -> Iterator[Finding]:
    """All findings; only one if the settings are invalid, since the other checks need them.

    ``production``: those of `production_checks`, too, for so many ``workers``. Without
    ``application`` it is not tried to make the application.
    """
    path = config_path(config)
    try:
        ini = read_ini(path)
        variables = environment(folder_of(ini))
        cfg = load(ini, variables)
    except SettingsError as error:
        yield _line("settings-wrong", "settings", error=error)
        return
    yield _line("settings-understood", "settings", path=path)
    for name in unknown_variables(variables):
        yield _line("variable-unknown", name)
    for file in private_paths(cfg, ini, variables):
        if advice := exposed(file):
            yield _line("file-exposed", str(file), advice=advice)
        elif file.exists():
            yield _line("file-private", str(file))
    for invalid in folder_errors(cfg):
        yield Finding("wrong", invalid.key, f"{invalid.value}: {invalid.message}")
    if application and not other_program(ini):
        yield from _application(path, cfg)
    yield from _database(cfg)
    yield from _rules(cfg, STRICT if production else LENIENT)
    if production:
        from .production_checks import production_findings

        yield from production_findings(cfg, workers)


def _line(name: str, subject: str, **values: object) -> Finding:
    state, message = LINES[name]
    return Finding(state, subject, message.format(**values))


def _application(path: Path, cfg: Settings) -> Iterator[Finding]:
    try:
        check_start(cfg)
    except SettingsError:
        return  # other lines say it
    if error := application_error(path):
        yield _line("application-wrong", "application", error=" ".join(error.split()))


def _database(cfg: Settings) -> Iterator[Finding]:
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.db import migrate, open_database, privileges
    from authsite.db.engine import has_time_limit

    database = open_database(cfg.database_url.reveal())
    try:
        schema = migrate.state(database)
        values = {"current": schema.revision or "nothing", "head": schema.head}
        yield _line(f"schema-{schema.status}", "database-url", **values)
        if not schema.usable:
            return
        if privileges.is_superuser(database.autocommit):
            yield _line("database-superuser", "database-url", advice=privileges.SUPERUSER)
        if not has_time_limit(database.autocommit):
            yield _line("database-untimed", "database-url")
        yield from _secret(cfg, database)
        yield from _audit_trail(cfg, database)
        yield from _clients(cfg, database)
        yield from _registration(cfg, database)
    except SQLAlchemyError as error:
        yield _line("database-unusable", "database-url", cause=cause_of(error))
    finally:
        database.dispose()


def _secret(cfg: Settings, database: "Database") -> Iterator[Finding]:
    from authsite.installation.secret import OtherSecret, check

    try:
        with database.autocommit.connect() as connection:
            check(connection, cfg)
    except OtherSecret as error:
        yield _line("secret-other", "secret", error=error)


def _audit_trail(cfg: Settings, database: "Database") -> Iterator[Finding]:
    from authsite import clock
    from authsite.audit.late import some_late
    from authsite.audit.purge import purge_problem
    from authsite.audit.seals import audit_keys

    if len(cfg.secret) > 1 and not cfg.audit_key:
        yield _line("audit-key-lost", "audit-key")
    with database.autocommit.connect() as connection:
        found = purge_problem(connection, clock.now(), cfg)
        late = some_late(connection, audit_keys(cfg))
    if found:
        yield _line("audit-changed", "audit trail", seal=found.seal, text=found.text)
    if late:
        more = f" (and {len(late) - 1} more)" if len(late) > 1 else ""
        yield _line("audit-late", "audit trail", seal=late[0].id, more=more)


def _clients(cfg: Settings, database: "Database") -> Iterator[Finding]:
    from authsite.oauth.client_auth import authenticate
    from authsite.oauth.errors import InvalidClient
    from authsite.passwords import HashPool, Passwords

    if not cfg.clients:
        yield _line("client-none", "clients.web.id")
    passwords = Passwords(cfg.bcrypt_cost, (), HashPool())
    for name, configured in cfg.clients.items():
        key = f"clients.{name}.id"
        try:
            secret = configured.secret.reveal()
            client = authenticate(database, passwords, configured.id, secret, upgrade=False)
        except InvalidClient:
            yield _line("client-unknown", key)
            continue
        if client.type == "password":
            yield _line("client-good", key)
        else:
            yield _line("client-type", key, type=client.type)


def _registration(cfg: Settings, database: "Database") -> Iterator[Finding]:
    from authsite.users.census import count_users

    if cfg.registration != "domains":
        return
    with database.autocommit.connect() as connection:
        found = count_users(connection, cfg.registration_domains)
    if found.unconfirmed:
        yield _line("registration-unconfirmed", "registration", count=found.unconfirmed)
    if found.of_other_domains:
        yield _line("registration-other-domains", "registration", count=found.of_other_domains)


def _rules(cfg: Settings, wrong: Collection[str]) -> Iterator[Finding]:
    broken = [(rule, advice) for rule in RULES if (advice := rule.broken_by(cfg))]
    for rule, advice in broken:
        state = "wrong" if {rule.level, rule.name}.intersection(wrong) else "change"
        yield Finding(state, rule.subject, advice)
    unsafe = {rule.subject for rule, _ in broken}
    for subject in dict.fromkeys(rule.subject for rule in RULES):
        if subject not in unsafe:
            yield _line("key-fine", subject)
