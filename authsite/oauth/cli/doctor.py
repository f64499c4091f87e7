"""``authsite client doctor``: why an application cannot sign people in, and what to change."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import click

from authsite.oauth import client_uris
from authsite.oauth.client_fields import default_claims
from authsite.oauth.models import CODE_TYPES, Client
from authsite.oauth.oidc.availability import is_on_with, why_off
from authsite.oauth.oidc.claims import CLAIMS_OF_SCOPE, ID_TOKEN_CLAIMS
from authsite.oauth.oidc.issuer import issuer_of
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Filter, search
from authsite.platform.command_line.shared import (
    config_option,
    examples,
    json_option,
    print_json,
    session,
    visible,
)
from authsite.platform.context import Context
from authsite.platform.denied_requests import service as denied_requests
from authsite.platform.finding import Finding
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

from .clients import CLEARTEXT, SAMPLE, client, find_client
from .public_checks import public_findings

MARKS = {"wrong": ("WRONG", "red"), "change": ("change", "yellow"), "ok": ("ok", "green")}
LATEST = 10
AUTHORIZATION = "authorization"  # a table of reasons
SIGN_IN_ROUTES = ("oauth.token", "oauth.device", "oauth.end_session")


class Refused(NamedTuple):
    """A request that was refused; ``change`` is what to change."""

    at: str
    request_id: str | None
    reason: str
    change: str
    details: Mapping[str, str]


@client.command(
    epilog=examples(
        f"authsite client doctor {SAMPLE}",
        f"authsite client doctor {SAMPLE} --origin https://app.example.org --json",
    )
)
@click.argument("client_id", metavar="ID")
@click.option("--origin", help="An origin whose pages call authsite: checks CORS.")
@json_option
@config_option
def doctor(cfg: Settings, client_id: str, origin: str | None, as_json: bool) -> None:
    """Say why a client cannot sign people in.

    Reads the metadata and the keys through the public address, as the application does, compares
    the clocks, and lists the last requests that were refused, each with what to change. Ends with
    status 1 if something is wrong.
    """
    with session(cfg) as ctx:
        with ctx.db.begin():
            found = find_client(ctx.db, client_id)
            findings = list(_of_client(ctx, found))
            refused = _refused_requests(ctx, found)
        if not is_on_with(cfg, standalone=True):
            findings.append(Finding("wrong", "openid", why_off(cfg)))
        else:
            issuer = issuer_of(ctx.services)
            alg = found.id_token_alg or "RS256"
            findings += public_findings(ctx.services, issuer, alg, origin)
    findings.sort(key=lambda each: [*MARKS].index(each.state))
    if as_json:
        rows = [each._asdict() for each in refused]
        print_json({"findings": [vars(each) for each in findings], "refused": rows})
    else:
        _print(findings, refused)
    if any(each.state == "wrong" for each in findings):
        raise SystemExit(1)


def _print(findings: Sequence[Finding], refused: Sequence[Refused]) -> None:
    """Print a line for each finding, then the requests."""
    for finding in findings:
        mark, color = MARKS[finding.state]
        styled = click.style(f"{mark:<6}", fg=color)
        click.echo(f"{styled}  {finding.subject}: {visible(finding.message)}")
    if not refused:
        click.echo("No request of this client was refused.")
        return
    click.echo("\nThe last requests that were refused:")
    for each in refused:
        click.echo(f"\n{each.at} {visible(each.reason)}: {each.change}")
        for name, value in each.details.items():
            click.echo(f"  {name}: {visible(value)}")
        if each.request_id:
            click.echo(f"  more: authsite explain {visible(each.request_id)}")


def _of_client(ctx: Context, found: Client) -> list[Finding]:
    """What the client's row says."""
    findings = []
    if found.type not in CODE_TYPES:
        others = ", ".join(CODE_TYPES)
        message = f"a client of type {found.type} signs no user in: create one of type {others}"
        findings.append(Finding("wrong", "type", message))
    if found.disabled_at:
        message = "the client is disabled: `authsite client enable` enables it"
        findings.append(Finding("wrong", "enabled", message))
    all_uris = client_uris.of(ctx.db, [found.id])
    uris = all_uris.get((found.id, client_uris.KINDS["redirect_uris"]))
    if cleartext := client_uris.unencrypted(all_uris, found.id):
        message = CLEARTEXT.format(uris=" ".join(cleartext))
        findings.append(Finding("change", "redirect URIs", message))
    elif uris:
        findings.append(Finding("ok", "redirect URIs", " ".join(uris)))
    elif found.type in CODE_TYPES:
        message = "there are none: `authsite client update --redirect-uri` adds one"
        findings.append(Finding("wrong", "redirect URIs", message))
    if found.type in CODE_TYPES:
        findings.append(_id_token(found))
    if found.pkce_optional:
        findings.append(_pkce(ctx, found))
    return findings


def _id_token(found: Client) -> Finding:
    """What the ID token says, which many applications read alone."""
    if found.claims_in_id_token:
        of_user = [f"{', '.join(claims)} ({scope})" for scope, claims in CLAIMS_OF_SCOPE.items()]
        message = (
            f"{', '.join(ID_TOKEN_CLAIMS)}, and by the scope that the application asks for "
            f"{'; '.join(of_user)}, as far as the user has them"
        )
        return Finding("ok", "ID token", message)
    message = (
        f"{', '.join(ID_TOKEN_CLAIMS)}: no facts about the user, which are at the userinfo "
        "endpoint alone"
    )
    if default_claims(found.type) == "userinfo":
        return Finding("ok", "ID token", message)
    change = "If it lacks name or address: `authsite client update --id-token-claims both`"
    return Finding("change", "ID token", f"{message}. {change}")


def _pkce(ctx: Context, found: Client) -> Finding:
    """Whether the application, which need not send a code challenge, has sent one."""
    wanted = Filter(client_id=found.id, events=(Event.AUTHORIZATION_GRANTED,))
    sign_ins = [
        (each.at, (each.details or {}).get("code_challenge"))
        for each in search(ctx.db, wanted, LATEST).events
    ]
    sent = [at for at, challenge in sign_ins if challenge == "sent"]
    if not sent:
        known = any(challenge for _at, challenge in sign_ins)
        message = "optional; " + (
            f"none of the last {len(sign_ins)} sign-ins had a code challenge"
            if known
            else "no sign-in yet tells whether the application sends a code challenge"
        )
        return Finding("ok", "PKCE", message)
    message = (
        f"optional, and {len(sent)} of the last {len(sign_ins)} sign-ins had a code challenge, the "
        f"last at {clock.rfc3339(max(sent))}: `authsite client update --pkce required` requires it"
    )
    return Finding("change", "PKCE", message)


def _refused_requests(ctx: Context, found: Client) -> list[Refused]:
    """The latest ones, oldest first: those of the audit trail, and of the last week all others."""
    wanted = Filter(client_id=found.id, events=(Event.AUTHORIZATION_REFUSED,))
    refused = []
    for event in search(ctx.db, wanted, LATEST).events:
        details = {name: str(value) for name, value in (event.details or {}).items()}
        name = details.pop("reason", "")
        change = _change(ctx, f"{AUTHORIZATION}.{name}")
        refused.append(Refused(clock.rfc3339(event.at), event.request_id, name, change, details))
    for row in denied_requests.latest_of(ctx.db, found.id, SIGN_IN_ROUTES, LATEST):
        change = _change(ctx, row.reason)
        details = dict(row.details or {})
        at, name = clock.rfc3339(row.at), row.reason or row.error
        refused.append(Refused(at, row.request_id, name, change, details))
    return sorted(refused, key=lambda each: each.at)[-LATEST:]


def _change(ctx: Context, reason: str | None) -> str:
    """What the row of a table of reasons says."""
    row = denied_requests.reason_of(ctx.services, reason)
    return row.meaning if row else "This version does not know the reason."
