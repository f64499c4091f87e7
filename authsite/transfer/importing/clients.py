"""Check the clients of a source, and write them.

A client keeps its id: a UUID, or the number that an older Passport gave it (`ids.as_client_id`).
The hash of its secret is stored as it is: SHA-256 is our own form, and a bcrypt hash is replaced at
its first use (`oauth.client_secrets`).
"""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, cast

from sqlalchemy import Table, insert, select

from authsite.oauth.clients import uris as client_uris
from authsite.oauth.clients.authentication import scheme_of
from authsite.oauth.clients.redirect_uris import allowed_by
from authsite.oauth.models import (
    CODE_TYPES,
    MAX_URIS,
    PUBLIC_TYPES,
    REDIRECT,
    Client,
    ClientUri,
)
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, record_all
from authsite.platform.context import Context
from authsite.platform.passwords import imports
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_client_id, as_id
from authsite.platform.runtime.lines import NotOneLine, one_line
from authsite.platform.settings.values import OIDC_SCOPES, is_admin

from .before import CLIENTS, Before, client_key
from .report import PRESENT, Outcome, refused
from .rows import ClientDraft, Fault, Row, require_storable, size

_SHA_256 = re.compile(r"[0-9a-f]{64}")
_CLIENTS = cast(Table, Client.__table__)

ReadDraft: TypeAlias = Callable[[Mapping[str, object]], ClientDraft]


class Rules(NamedTuple):
    """How the clients of one import are taken.

    ``system``: the name of the source in audit events. ``before``: the rows of the run so far; None
    for a batch that is the whole run.
    """

    system: str
    read_draft: ReadDraft
    cost: int
    before: Before | None = None


def write(ctx: Context, rules: Rules, rows: Sequence[Row]) -> list[Outcome]:
    """Write the clients of ``rows`` in the transaction of ``ctx``; what became of every row.

    Raises `IntegrityError` if another process has written a client with the same id.
    """
    found = ctx.db.execute(select(Client.id, Client.created_at))
    present: dict[uuid.UUID, datetime] = {row.id: row.created_at for row in found}
    before = rules.before or Before()
    outcomes: list[Outcome] = []
    new: list[dict[str, Any]] = []
    uris: list[dict[str, Any]] = []
    causes: list[About] = []
    for row, draft in before.drafts(CLIENTS, rows, rules.read_draft, outcomes, key=client_key):
        source_id = draft.source_id
        try:
            values = _values(rules, draft)
            id_ = values["id"]
            if id_ in present:
                unsure = _is_unsure(draft, present[id_])
                outcomes.append(
                    Outcome(row.number, source_id, id_, "present", None, PRESENT, unsure=unsure)
                )
                continue
            uris += _redirect_uris(ctx, id_, values["type"], draft.uris)
        except (Fault, ValueError) as error:
            outcomes.append(refused(row, source_id, error))
            continue
        before.clients[id_] = values["type"]
        new.append(values)
        details = {"source": rules.system, "source_id": source_id}
        causes.append({"client_id": id_, "details": details})
        outcomes.append(Outcome(row.number, source_id, id_, "imported"))
    if new and not before.seen:
        ctx.db.execute(insert(_CLIENTS), new)
        record_all(ctx, Event.CLIENT_CREATED, causes)
        add_uris(ctx, rules.system, uris)
    return sorted(outcomes, key=lambda outcome: outcome.row)


def add_uris(ctx: Context, system: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows of `ClientUri`, each with its audit event: a code may be sent to it."""
    if not rows:
        return
    ctx.db.execute(insert(ClientUri), list(rows))
    causes: list[About] = [
        {
            "client_id": row["client_id"],
            "details": {"source": system, "kind": row["kind"], "uri": row["uri"]},
        }
        for row in rows
    ]
    record_all(ctx, Event.CLIENT_CHANGED, causes)


def _is_unsure(draft: ClientDraft, created_at: datetime) -> bool:
    """Whether nothing says that the client who is here is that of the row.

    A number is the id of no client but one of an import. Raises `Fault` for another client.
    """
    if draft.created_at == created_at:
        return False
    if draft.created_at is None and as_id(draft.source_id.lower()) is None:
        return True
    if draft.created_at is None:
        raise Fault(
            "id",
            "a client with this id is here, and the row does not say when its client was created:"
            f" {draft.source_id}",
        )
    raise Fault("id", f"another client has this id: {draft.source_id}")


def _redirect_uris(
    ctx: Context, client_id: uuid.UUID, type_: str, uris: Sequence[str]
) -> list[dict[str, Any]]:
    """The rows of the redirect URIs of a new client. Raises `Fault`."""
    if len(uris) > MAX_URIS:
        raise Fault("redirect", f"has more than {MAX_URIS} URIs")
    rows = []
    for position, uri in enumerate(uris):
        try:
            client_uris.check(REDIRECT, uri, type_, allowed_by(ctx.settings))
        except ValueError as error:
            raise Fault("redirect", f"{error}: {uri}") from None
        values = {"client_id": client_id, "kind": REDIRECT, "uri": uri, "position": position}
        require_storable(cast(Table, ClientUri.__table__), {"uri": uri})
        rows.append({"id": uuid.uuid4(), **values})
    return rows


def _values(rules: Rules, draft: ClientDraft) -> dict[str, Any]:
    """The row of a client. Raises `Fault`."""
    id_ = as_client_id(draft.source_id.lower())
    if id_ is None:
        raise Fault("id", "is neither a UUID nor a number")
    try:
        name = one_line(draft.name) or str(id_)
    except NotOneLine as error:
        raise Fault("name", str(error)) from None
    now = clock.now()
    created = draft.created_at or now
    scope, default_scope = draft.scopes
    if any(is_admin(name) for name in f"{scope} {default_scope}".split()):
        raise Fault(
            "scope",
            "has a scope of administrators, which no import gives: remove it from the file, and "
            "give it with `authsite client update` when the client is imported",
        )
    if draft.type not in CODE_TYPES and set(f"{scope} {default_scope}".split()) & {*OIDC_SCOPES}:
        raise Fault("scope", f"has a scope that is for the types {', '.join(CODE_TYPES)} only")
    previous = None if draft.type in PUBLIC_TYPES else draft.previous_secret
    secret = "" if draft.type in PUBLIC_TYPES else _secret_hash(rules, draft.secret)
    values = {
        **draft.columns,
        "id": id_,
        "name": name[: size(_CLIENTS.c.name)],
        "type": draft.type,
        "grant_types": draft.grant_types,
        "secret_hash": secret,
        "previous_secret_hash": _secret_hash(rules, previous) if previous else None,
        "scope": scope,
        "default_scope": default_scope,
        "epoch": 0,
        "disabled_at": (draft.disabled_at or draft.updated_at or now) if draft.disabled else None,
        "created_at": created,
        "updated_at": draft.updated_at or created,
    }
    require_storable(_CLIENTS, values)
    return values


def _secret_hash(rules: Rules, secret: str | None) -> str:
    if secret is None:
        raise Fault(
            "secret",
            "is missing, which a client of this type needs: use a proxy endpoint for a public one",
        )
    if _SHA_256.fullmatch(secret):
        return secret
    if scheme_of(secret) != "bcrypt":
        raise Fault("secret", "has an unknown form: SHA-256 in lower-case hex and bcrypt are known")
    try:
        return imports.stored_form(secret, rules.cost)
    except imports.UnsupportedHash as error:
        raise Fault("secret", str(error)) from None
