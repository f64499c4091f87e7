"""``authsite client doctor``: why an application cannot sign people in, and what to change."""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from authsite.cli.findings import Finding
from authsite.cli.results import Data, result_command
from authsite.cli.shared import examples, session, visible
from authsite.context import Context
from authsite.oauth import client_uris
from authsite.oauth.authorization.reasons import Refusal
from authsite.oauth.models import CODE_TYPES, Client
from authsite.oauth.oidc.availability import is_on_with
from authsite.oauth.oidc.issuer import issuer_of
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Filter, search
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

from .clients import SAMPLE, client, find_client
from .public_checks import public_findings

MARKS = {"wrong": ("WRONG", "red"), "change": ("change", "yellow"), "ok": ("ok", "green")}
REFUSALS = 10


@dataclass(frozen=True, slots=True)
class Report:
    """The findings, and the latest refusals, oldest first."""

    findings: Sequence[Finding]
    refusals: Sequence[Data]

    @property
    def data(self) -> Data:
        return {"findings": [vars(each) for each in self.findings], "refusals": self.refusals}

    def show(self) -> None:
        """Print a line for each finding, then the refusals."""
        for each in self.findings:
            mark, color = MARKS[each.state]
            styled = click.style(f"{mark:<6}", fg=color)
            click.echo(f"{styled}  {each.subject}: {visible(each.message)}")
        if not self.refusals:
            click.echo("No authorization request of this client was refused.")
            return
        click.echo(f"\nThe last {len(self.refusals)} requests that were refused:")
        for refusal in self.refusals:
            click.echo(f"\n{refusal['at']} {refusal['reason']} (authsite explain {refusal['id']})")
            click.echo(f"  {refusal['change']}")
            for name, value in refusal["details"].items():  # type: ignore[attr-defined]
                click.echo(f"  {name}: {visible(value)}")


@client.command(
    epilog=examples(
        f"authsite client doctor {SAMPLE}",
        f"authsite client doctor {SAMPLE} --origin https://app.example.org --json",
    )
)
@click.argument("client_id", metavar="ID")
@click.option("--origin", help="An origin whose pages call authsite: checks CORS.")
@result_command
def doctor(cfg: Settings, client_id: str, origin: str | None) -> Report:
    """Say why an application cannot sign people in.

    Reads the metadata and the keys through the public address, as the application does, compares
    the clocks, and lists the last requests that were refused, each with what to change. Ends with
    status 1 if something is wrong.
    """
    with session(cfg) as ctx:
        with ctx.db.begin():
            found = find_client(ctx.db, client_id)
            findings = list(_of_client(ctx, found))
            refusals = _refusals(ctx, found)
        if not is_on_with(cfg, standalone=True):
            why = cfg.openid_obstacle or "the setting openid is off: set it to on"
            findings.append(Finding("wrong", "openid", why))
        else:
            issuer = issuer_of(ctx.services)
            alg = found.id_token_alg or "RS256"
            findings += public_findings(ctx.services, issuer, alg, origin)
    report = Report(sorted(findings, key=lambda each: [*MARKS].index(each.state)), refusals)
    if any(each.state == "wrong" for each in report.findings):
        click.get_current_context().call_on_close(_fail)
    return report


def _fail() -> None:
    raise SystemExit(1)


def _of_client(ctx: Context, found: Client) -> list[Finding]:
    """What the client's row says."""
    findings = []
    if found.type not in CODE_TYPES:
        others = ", ".join(CODE_TYPES)
        message = f"a client of type {found.type} signs nobody in: create one of type {others}"
        findings.append(Finding("wrong", "type", message))
    if found.disabled_at:
        message = "the client is disabled: `authsite client enable` enables it"
        findings.append(Finding("wrong", "enabled", message))
    uris = client_uris.of(ctx.db, [found.id]).get((found.id, client_uris.KINDS["redirect_uris"]))
    if uris:
        findings.append(Finding("ok", "redirect URIs", " ".join(uris)))
    elif found.type in CODE_TYPES:
        message = "there are none: `authsite client update --redirect-uri` adds one"
        findings.append(Finding("wrong", "redirect URIs", message))
    return findings


def _refusals(ctx: Context, found: Client) -> list[Data]:
    """The latest ones, with what to change."""
    wanted = Filter(client_id=found.id, events=(Event.AUTHORIZATION_REFUSED,))
    meanings = {str(each): each.meaning for each in Refusal}
    rows: list[Data] = []
    for event in search(ctx.db, wanted, REFUSALS).events:
        details = {name: str(value) for name, value in (event.details or {}).items()}
        reason = details.pop("reason", "")
        rows.append(
            {
                "at": clock.rfc3339(event.at),
                "id": event.request_id,
                "reason": reason,
                "change": meanings.get(reason, "This version does not know the reason."),
                "details": details,
            }
        )
    return rows
