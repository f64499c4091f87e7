"""``authsite client doctor``: why an application cannot sign people in, and what to change."""

import json
from collections.abc import Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import click

from authsite.oauth.clients import uris as client_uris
from authsite.oauth.clients.fields import default_claims
from authsite.oauth.models import CODE_TYPES, Client
from authsite.oauth.oidc.availability import is_on_with, why_off
from authsite.oauth.oidc.id_tokens import CLAIMS_OF_SCOPE, ID_TOKEN_CLAIMS, issuer_of
from authsite.oauth.oidc.keys.rotation import inspect
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
from authsite.platform.context import Context, Services
from authsite.platform.denied_requests import service as denied_requests
from authsite.platform.finding import Finding
from authsite.platform.http import outbound
from authsite.platform.http.outbound import Answer
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

from .clients import CLEARTEXT, SAMPLE, client, find_client

# What an application sees of this service at its public address.


DISCOVERY = "/.well-known/openid-configuration"
LIMIT = 64 * 1024  # bytes of a document
SKEW = 30  # seconds between two clocks


def public_findings(
    services: Services, issuer: str, alg: str, origin: str | None
) -> Iterator[Finding]:
    """Metadata, clock and keys, and with an ``origin`` CORS; ``alg`` is the client's."""
    try:
        answer = _get(services, f"{issuer}{DISCOVERY}", origin)
        metadata = _object(answer)
    except (outbound.Unreachable, ValueError) as error:
        message = (
            f"{issuer}{DISCOVERY} cannot be read from this machine: {error}. Check base-url, the "
            "name server, the certificate and the proxy (docs/production.md)"
        )
        yield Finding("wrong", "discovery", message)
        return
    yield _discovery(metadata, issuer)
    yield _clock(answer)
    yield from _keys(services, str(metadata.get("jwks_uri")), alg)
    if origin:
        yield from _cors(services, answer, str(metadata.get("token_endpoint")), origin)


def _discovery(metadata: dict[str, Any], issuer: str) -> Finding:
    if metadata.get("issuer") != issuer:
        message = (
            f"the issuer there is {metadata.get('issuer')}, and base-url says {issuer}: the "
            "processes behind the public address have other settings than this command"
        )
        return Finding("wrong", "discovery", message)
    endpoints = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")
    missing = [name for name in endpoints if not metadata.get(name)]
    if missing:
        message = f"{', '.join(missing)} is missing: restart the processes with openid on"
        return Finding("wrong", "discovery", message)
    return Finding("ok", "discovery", f"{issuer}{DISCOVERY}")


def _clock(answer: Answer) -> Finding:
    """ID tokens of a clock that is ahead are refused as from the future."""
    try:
        there = parsedate_to_datetime(answer.headers.get("date", ""))
    except ValueError:
        return Finding("change", "clock", "the answer has no header Date: the proxy removes it")
    difference = round((there - clock.now()).total_seconds())
    if abs(difference) > SKEW:
        message = f"the clocks differ by {difference} s: set both machines by NTP"
        return Finding("wrong", "clock", message)
    return Finding("ok", "clock", f"differs by {difference} s")


def _keys(services: Services, url: str, alg: str) -> Iterator[Finding]:
    try:
        published = _object(_get(services, url, None)).get("keys") or []
    except (outbound.Unreachable, ValueError) as error:
        yield Finding("wrong", "keys", f"{url} cannot be read: {error}")
        return
    kids = {each.get("kid") for each in published if each.get("alg", alg) == alg}
    current = [each for each in inspect(services) if each.alg == alg and each.state == "current"]
    if not current or not all(each.usable for each in current):
        message = f"no key signs {alg}: see `authsite keys list` and `authsite doctor`"
        yield Finding("wrong", "keys", message)
    elif any(each.kid not in kids for each in current):
        message = (
            f"the key that signs {alg} is not published at {url}: an old copy is in a cache, or "
            "the processes there use another database"
        )
        yield Finding("wrong", "keys", message)
    else:
        yield Finding("ok", "keys", f"{alg}, {len(kids)} published")


def _cors(services: Services, read: Answer, token_url: str, origin: str) -> Iterator[Finding]:
    """Fetch Standard, section 3.2: what pages of ``origin`` may read."""
    if read.headers.get("access-control-allow-origin") != "*":
        message = "the metadata has no Access-Control-Allow-Origin: the proxy removes it"
        yield Finding("wrong", "CORS", message)
    preflight = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    try:
        answer = outbound.send(
            services, outbound.UNTRUSTED, "OPTIONS", token_url, headers=preflight, limit=LIMIT
        )
    except outbound.Unreachable as error:
        yield Finding("wrong", "CORS", f"{token_url} cannot be asked: {error}")
        return
    if answer.headers.get("access-control-allow-origin") != origin:
        message = (
            f"pages of {origin} may not call the token endpoint: give the client (type browser) "
            "`--origin`, or add it to the setting cors-origins"
        )
        yield Finding("wrong", "CORS", message)
    else:
        yield Finding("ok", "CORS", f"pages of {origin} may call the token endpoint")


def _get(services: Services, url: str, origin: str | None) -> Answer:
    headers = {"Accept": "application/json"} | ({"Origin": origin} if origin else {})
    return outbound.send(services, outbound.UNTRUSTED, "GET", url, headers=headers, limit=LIMIT)


def _object(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer. Raises ValueError."""
    if answer.status != 200:
        raise ValueError(f"the answer is {answer.status}")
    found = json.loads(answer.body)
    if not isinstance(found, dict):
        raise ValueError("the answer is not a JSON object")
    return found


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
