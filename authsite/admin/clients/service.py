"""What administrators do with clients. No client changes one for itself.

The secret is in the answer alone: no event, log or list has it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import case, func, select

from authsite.admin import reasons
from authsite.admin.errors import ClientInUse, InvalidClient, OtherName, UnknownObject, field_errors
from authsite.admin.guard import Administrator
from authsite.admin.lists import Page, after, cursor
from authsite.admin.users import detail
from authsite.oauth.clients import deletion, registration, service, uris
from authsite.oauth.clients import fields as client_fields
from authsite.oauth.clients.fields import NO_FIELDS, ClientFields
from authsite.oauth.errors import InvalidValue
from authsite.oauth.models import Client
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import Context
from authsite.platform.http.bodies import require_valid
from authsite.platform.http.errors import FieldError

_WRITE = "clients:write"


@dataclass(frozen=True, slots=True)
class ClientValues:
    """New values of a client; None leaves one as it is."""

    name: str | None = None
    scope: str | None = None
    default_scope: str | None = None
    fields: ClientFields = NO_FIELDS


class Filters(NamedTuple):
    """Which clients a list has."""

    name: str | None = None
    type: str | None = None
    disabled: bool | None = None


def some(
    ctx: Context, by: Administrator, wanted: Filters, limit: int, text: str | None
) -> Page[Client]:
    """The clients behind the cursor ``text``, the newest first. Raises `InvalidCursor`."""
    filters = {"list": "clients", **wanted._asdict()}
    key = after(ctx, by, filters, text)
    query = select(Client).order_by(Client.created_at.desc(), Client.id.desc())
    if wanted.name:
        query = query.where(service.called(wanted.name))
    if wanted.type:
        query = query.where(Client.type == wanted.type)
    if wanted.disabled is not None:
        is_disabled = Client.disabled_at.is_not(None)
        query = query.where(is_disabled if wanted.disabled else ~is_disabled)
    if key:
        created, id_ = datetime.fromisoformat(str(key[0])), UUID(str(key[1]))
        older = (Client.created_at == created) & (Client.id < id_)
        query = query.where((Client.created_at < created) | older)
    rows = ctx.db.scalars(query.limit(limit + 1)).all()
    shown, more = rows[:limit], len(rows) > limit
    if not more:
        return Page(shown, None)
    last = [shown[-1].created_at.isoformat(), str(shown[-1].id)]
    return Page(shown, cursor(ctx, by, filters, last))


def find(ctx: Context, client_id: UUID | None) -> Client:
    """A client. Raises `UnknownObject`."""
    client = ctx.db.get(Client, client_id) if client_id else None
    if client is None:
        raise UnknownObject
    return client


def register(
    ctx: Context,
    by: Administrator,
    client_type: str,
    given: ClientValues,
    reason: str | None = None,
) -> tuple[Client, str | None]:
    """Register a client; returns it and its secret, which a public client has not.

    Raises `ValidationFailed` and `PermissionMissing`.
    """
    require_valid(registration_errors(ctx, by, client_type, given, reason))
    return registration.register(
        ctx,
        given.name or "",
        client_type,
        given.scope or "",
        given.default_scope or "",
        given.fields,
        reasons.cause(by, reason),
    )


def registration_errors(
    ctx: Context,
    by: Administrator,
    client_type: str | None,
    given: ClientValues,
    reason: str | None,
    *,
    unread: Collection[str] = (),
) -> Sequence[FieldError]:
    """What `register` finds wrong with the values that are there, and with the reason.

    ``unread``: the fields with an error that is known. Raises `PermissionMissing`.
    """
    require_writer(by)
    scope = None if "scope" in unread else given.scope or ""
    wrong = registration.errors_of_new(
        ctx, given.name, client_type, scope, given.default_scope, given.fields
    )
    return [*field_errors(wrong), *reasons.errors(by, reason)]


def require_writer(by: Administrator) -> None:
    """Raise `PermissionMissing` for a client: none changes a client."""
    detail.require_person(by, _WRITE)


def change(
    ctx: Context,
    by: Administrator,
    client_id: UUID | None,
    given: ClientValues,
    reason: str | None = None,
) -> Client:
    """Change the given values, if any of them differs.

    A narrower scope, and another ``first_party``, end the tokens of the client. Raises
    `UnknownObject`, `ValidationFailed` and `PermissionMissing`.
    """
    client = _lock(ctx, by, client_id)
    require_valid(_change_errors(ctx, by, client, given, reason))
    changed = _differing(ctx, client, given)
    if changed == ClientValues():
        return client
    registration.change(
        ctx,
        client,
        name=changed.name,
        scope=changed.scope,
        default_scope=changed.default_scope,
        fields=changed.fields,
        cause=reasons.cause(by, reason),
    )
    ctx.db.flush()
    return client


def change_errors(
    ctx: Context,
    by: Administrator,
    client_id: UUID | None,
    given: ClientValues,
    reason: str | None,
    *,
    unread: Collection[str] = (),
) -> Sequence[FieldError]:
    """What `change` finds wrong with the values that are there, and with the reason.

    ``unread``: the fields that are to change to a value with an error that is known. Raises
    `UnknownObject` and `PermissionMissing`.
    """
    found = _change_errors(ctx, by, reach(ctx, by, client_id), given, reason)
    of_scope = ("scope", "default_scope") if "scope" in unread else ()
    return [error for error in found if error.field not in of_scope]


def _change_errors(
    ctx: Context, by: Administrator, client: Client, given: ClientValues, reason: str | None
) -> Sequence[FieldError]:
    new, wrong = _differing(ctx, client, given), []
    if new != ClientValues():
        wrong = registration.errors_of_change(
            ctx, client, new.name, new.scope, new.default_scope, new.fields
        )
    return [*field_errors(wrong), *reasons.errors(by, reason)]


def rotate_secret(
    ctx: Context, by: Administrator, client_id: UUID | None, reason: str | None = None
) -> tuple[Client, str]:
    """Give the client a new secret, which is returned; the one before stays valid, an older not.

    Raises `UnknownObject`, `InvalidClient` for a public client, and `PermissionMissing`.
    """
    client = _lock(ctx, by, client_id)
    cause = reasons.cause(by, reason)
    try:
        return client, service.rotate_secret(ctx, client, cause)
    except InvalidValue as error:
        raise InvalidClient(error) from None


def retire_secret(
    ctx: Context, by: Administrator, client_id: UUID | None, reason: str | None = None
) -> Client:
    """End the older of two valid secrets, if there are two.

    Raises `UnknownObject` and `PermissionMissing`.
    """
    client = _lock(ctx, by, client_id)
    cause = reasons.cause(by, reason)
    if client.previous_secret_hash is not None:
        service.retire_secret(ctx, client, cause)
        ctx.db.flush()
    return client


def disable(
    ctx: Context, by: Administrator, client_id: UUID | None, reason: str | None = None
) -> Client:
    """Reject the client from now on, and end its tokens. Raises as `retire_secret`."""
    client = _lock(ctx, by, client_id)
    cause = reasons.cause(by, reason)
    if client.disabled_at is None:
        service.disable(ctx, client.id, cause)
        ctx.db.refresh(client)
    return client


def enable(
    ctx: Context, by: Administrator, client_id: UUID | None, reason: str | None = None
) -> Client:
    """Accept the client again; its tokens stay ended. Raises as `retire_secret`."""
    client = _lock(ctx, by, client_id)
    cause = reasons.cause(by, reason)
    if client.disabled_at is not None:
        service.enable(ctx, client, cause)
        ctx.db.flush()
    return client


def delete(
    ctx: Context, by: Administrator, client_id: UUID | None, name: str, reason: str | None = None
) -> None:
    """Delete a disabled client, with its tokens and consents; ``name``: its name, typed.

    Raises `UnknownObject`, `ClientInUse`, `OtherName` and `PermissionMissing`.
    """
    client = _lock(ctx, by, client_id)
    require_valid(_deletion_errors(by, client, name, reason))
    if client.disabled_at is None:
        raise ClientInUse
    try:
        deletion.delete(ctx, client, reasons.cause(by, reason))
    except InvalidValue as error:
        raise ClientInUse(error) from None


def deletion_errors(
    ctx: Context, by: Administrator, client_id: UUID | None, name: str | None, reason: str | None
) -> Sequence[FieldError]:
    """What `delete` finds wrong with the name and the reason.

    Raises `UnknownObject` and `PermissionMissing`.
    """
    return _deletion_errors(by, reach(ctx, by, client_id), name, reason)


def _deletion_errors(
    by: Administrator, client: Client, name: str | None, reason: str | None
) -> Sequence[FieldError]:
    other = name is not None and name.strip() != client.name
    return [*(OtherName().details if other else ()), *reasons.errors(by, reason)]


def reach(ctx: Context, by: Administrator, client_id: UUID | None) -> Client:
    """A client that ``by`` may change. Raises `UnknownObject` and `PermissionMissing`."""
    require_writer(by)
    return find(ctx, client_id)


def uris_of(ctx: Context, found: Page[Client] | Client) -> uris.Uris:
    """The URIs of some clients, for `authsite.oauth.clients.fields.facts_of`."""
    rows = [found] if isinstance(found, Client) else found.rows
    return uris.of(ctx.db, [each.id for each in rows])


def _lock(ctx: Context, by: Administrator, client_id: UUID | None) -> Client:
    """The client, which stays as it is until the transaction ends."""
    require_writer(by)
    if client_id is None:
        raise UnknownObject
    # FOR NO KEY UPDATE: logins, which refer to the row, go on.
    client = ctx.db.get(Client, client_id, with_for_update={"key_share": True})
    if client is None:
        raise UnknownObject
    return client


def _differing(ctx: Context, client: Client, given: ClientValues) -> ClientValues:
    """``given`` without what the client has already."""
    present: dict[str, object] = client_fields.shown(client, uris_of(ctx, client))
    fields = {
        name: value
        for name, value in client_fields.readable(given.fields)._asdict().items()
        if value is not None and (name not in present or not _is_same(value, present[name]))
    }
    return ClientValues(
        None if given.name == client.name else given.name,
        _unless_same(given.scope, client.scope),
        _unless_same(given.default_scope, client.default_scope),
        ClientFields(**fields),
    )


def _is_same(given: object, present: object) -> bool:
    return given == present or (not given and not present)


def _unless_same(given: str | None, present: str) -> str | None:
    return None if given is None or given.split() == present.split() else given


# When a client was last used, and by how many sign-ins, as far as the newest events tell.
#
# No index finds the token families of a client: each login would have to write it.


LOOKED_AT = 20_000  # events


class Usage(NamedTuple):
    """What the newest `LOOKED_AT` events have of a client.

    ``families``: how many sign-ins began; ``more``: there are older events. ``last_used``: the time
    of the newest sign-in; None if there is none.
    """

    families: int
    more: bool
    last_used: datetime | None


def usage_of(ctx: Context, client: Client) -> Usage:
    """The use of a client."""
    newest = (
        select(AuditEvent.at, AuditEvent.event, AuditEvent.client_id)
        .order_by(AuditEvent.id.desc())
        .limit(LOOKED_AT)
        .subquery()
    )
    columns = newest.c
    is_ours = columns.client_id == client.id
    began = is_ours & (columns.event == str(Event.TOKEN_ISSUED))
    number, families, last = ctx.db.execute(
        select(
            func.count(),
            func.coalesce(func.sum(case((began, 1), else_=0)), 0),
            func.max(case((began, columns.at))),
        ).select_from(newest)
    ).one()
    return Usage(int(families), number >= LOOKED_AT, last)
