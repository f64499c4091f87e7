"""``authsite doctor``: reports errors in the set-up, and what to change before production."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from authsite.checks.arrival import arrival_findings
from authsite.checks.database import database_findings
from authsite.checks.features import openid_findings, passkey_findings, provider_findings
from authsite.checks.findings import LENIENT, STRICT, file_findings, line, rule_findings
from authsite.platform.command_line.shared import (
    config_path,
    examples,
    ini_option,
    json_option,
    print_json,
    services_of,
)
from authsite.platform.finding import Finding
from authsite.platform.settings import (
    Settings,
    SettingsError,
    environment,
    folder_of,
    load,
    read_ini,
)
from authsite.platform.settings.load import check_start

from .starting import application_error, other_program

MARKS = {
    "ok": ("ok", "green"),
    "note": ("note", "blue"),
    "change": ("change", "yellow"),
    "wrong": ("WRONG", "red"),
}

PRODUCTION_MARKS = {
    "ok": ("OK", "green"),
    "note": ("NOTE", "blue"),
    "change": ("WARNING", "yellow"),
    "wrong": ("ERROR", "red"),
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
    help="Try out what production needs, too: database and mail server, clock, disk, hashing, and "
    "the login page through the proxy.",
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
    for state in ("wrong", "change", "note", *(["ok"] if verbose else [])):
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
    counts = f"{_number(errors, 'error')}, {_number(warnings, 'warning')}"
    return f"{counts}: {ready} for production"


def _number(number: int, of: str) -> str:
    return f"{number} {of}" if number == 1 else f"{number} {of}s"


def examine(
    config: str | None,
    *,
    production: bool = False,
    workers: int | None = None,
    application: bool = True,
) -> Iterator[Finding]:
    """All findings; only one if the settings are invalid, since the other checks need them.

    ``production``: those of `checks.production`, too, for this number of ``workers``. Without
    ``application`` it is not tried to make the application, and no provider is asked.
    """
    path = config_path(config)
    try:
        ini = read_ini(path)
        variables = environment(folder_of(ini))
        cfg = load(ini, variables)
    except SettingsError as error:
        yield line("settings-wrong", "settings", error=error)
        return
    yield line("settings-understood", "settings", path=path)
    yield from file_findings(cfg, ini, variables)
    if application and not other_program(ini):
        yield from _application(path, cfg)
    with services_of(cfg) as services:
        yield from database_findings(services)
        yield from openid_findings(services, standalone=not other_program(ini))
        yield from passkey_findings(services)
        if application:
            yield from provider_findings(services)
        if production:
            yield from arrival_findings(services)
    yield from rule_findings(cfg, STRICT if production else LENIENT)
    if production:
        from authsite.checks.arrival import production_findings

        yield from production_findings(cfg, workers)


def _application(path: Path, cfg: Settings) -> Iterator[Finding]:
    try:
        check_start(cfg)
    except SettingsError:
        return  # other lines say it
    if error := application_error(path):
        yield line("application-wrong", "application", error=" ".join(error.split()))
