"""Write the URIs of clients, and the resources, of another authsite."""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, insert, select

from authsite.groups import members, service
from authsite.groups.lookup import find
from authsite.oauth import resources
from authsite.oauth.clients import uris
from authsite.oauth.clients.redirect_uris import allowed_by
from authsite.oauth.models import RESOURCE_SERVER, Client, ClientUri, Resource
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, Cause, record_all
from authsite.platform.context import Context
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_client_id
from authsite.providers.linking import service as linking_service
from authsite.users.groups.labels import Group, GroupMember, is_reserved
from authsite.users.identities import Identity, about
from authsite.users.models import User

from . import clients
from .before import GROUPS, Before, Owner, take_each
from .own import SYSTEM, identity
from .report import PRESENT, Outcome, Result, refused
from .rows import (
    ClientUriDraft,
    Fault,
    GroupDraft,
    IdentityDraft,
    MembershipDraft,
    ResourceDraft,
    Row,
    new_id,
    require_storable,
)

_RESOURCES = cast(Table, Resource.__table__)


def write_uris(
    ctx: Context,
    before: Before,
    read: Callable[[Mapping[str, object]], ClientUriDraft],
    rows: Sequence[Row],
) -> list[Outcome]:
    """Write the URIs of ``rows`` in the transaction of ``ctx``; what became of every row."""

    def take(draft: ClientUriDraft) -> Result:
        client_id, type_ = _own_client(ctx, before, draft.client_id)
        if draft.kind not in uris.KINDS.values():
            raise Fault("kind", f"is none of {', '.join(uris.KINDS.values())}")
        try:
            uris.check(draft.kind, draft.uri, type_, allowed_by(ctx.settings))
        except ValueError as error:
            raise Fault("uri", str(error)) from None
        known = select(ClientUri.id).where(
            ClientUri.client_id == client_id,
            ClientUri.kind == draft.kind,
            ClientUri.uri == draft.uri,
        )
        if ctx.db.scalar(known):
            return "present"
        if not before.seen:
            values = {"id": uuid.uuid4(), **draft._asdict(), "client_id": client_id}
            clients.add_uris(ctx, SYSTEM, [values])
        return "imported"

    return take_each(before, "client_uris", rows, read, take, column="client_id")


def write_resources(
    ctx: Context,
    before: Before,
    read: Callable[[Mapping[str, object]], ResourceDraft],
    rows: Sequence[Row],
) -> list[Outcome]:
    """Write the resources of ``rows``, as `write_uris`."""

    def take(draft: ResourceDraft) -> Result:
        require_storable(_RESOURCES, {"uri": draft.uri, "scopes": draft.scopes})
        present = resources.find_row(ctx, draft.uri)
        if present:
            if draft.created_at != present.created_at:
                raise Fault("uri", f"another resource has this URI: {draft.uri}")
            return "present"
        client_id, type_ = None, RESOURCE_SERVER
        if draft.client_id:
            client_id, type_ = _own_client(ctx, before, draft.client_id)
        if type_ != RESOURCE_SERVER:
            raise Fault("client_id", f"is of no resource server: {draft.client_id}")
        with ctx.db.begin_nested() as savepoint:
            server = None if before.seen else client_id
            made = resources.add(ctx, draft.uri, draft.scopes, server, draft.tokens)
            made.created_at = draft.created_at or made.created_at
            made.updated_at = draft.updated_at or made.created_at
            if before.seen:
                savepoint.rollback()
        return "imported"

    return take_each(
        before,
        "resources",
        rows,
        read,
        take,
        column="uri",
        id_of=lambda draft: draft.uri,
        key=resources.comparable,
    )


def _own_client(ctx: Context, before: Before, given: str) -> tuple[UUID, str]:
    """The id and the type of a client whose row was taken. Raises `Fault`."""
    client_id = as_client_id(given.lower())
    if client_id is None or not before.has_client(client_id):
        raise Fault(
            "client_id",
            "is of a client that was not imported with this source, or whose row in it does not say"
            f" when the client that is here was created: {given}",
        )
    stored = ctx.db.scalar(select(Client.type).where(Client.id == client_id))
    return client_id, stored or before.clients[client_id]


# Write the groups and memberships of another authsite, by the rules of `authsite group`.
#
# No import makes an administrator: memberships of the reserved groups are reported and left out.


_CAUSE = Cause("command", reason="authsite import")


def write_groups(
    ctx: Context,
    before: Before,
    read: Callable[[Mapping[str, object]], GroupDraft],
    rows: Sequence[Row],
) -> list[Outcome]:
    """Write the groups of ``rows`` in the transaction of ``ctx``; what became of every row."""

    def take(draft: GroupDraft) -> Result:
        present = ctx.db.get(Group, draft.name)
        if present:
            if draft.created_at != present.created_at:
                raise Fault("name", f"another group has this name: {draft.name}")
            return "present"
        given = service.GroupValues(draft.title, draft.scopes, draft.require_acr)
        with ctx.db.begin_nested() as savepoint:
            group = service.create(ctx, draft.name, given, _CAUSE)
            group.created_at = draft.created_at or group.created_at
            group.updated_at = draft.updated_at or group.created_at
            if before.seen:
                savepoint.rollback()
        before.groups.add(draft.name)
        return "imported"

    return take_each(
        before, GROUPS, rows, read, take, column="name", id_of=lambda draft: draft.name
    )


def write_memberships(
    ctx: Context,
    before: Before,
    system: str,
    read: Callable[[Mapping[str, object]], MembershipDraft],
    rows: Sequence[Row],
) -> list[Outcome]:
    """Write the memberships of ``rows``, as `write_groups`; ``system``: whose ids users have."""

    def take(draft: MembershipDraft) -> Result:
        name = draft.group_name
        if is_reserved(name):
            raise Fault(
                "group_name",
                "is a group of administrators, which no import makes; give the role with "
                f"`authsite admin grant`: {name}",
            )
        user_id = before.users(ctx, system, [draft.user_id]).owner(draft.user_id).id
        if before.refused(GROUPS, name):
            raise Fault("group_name", f"is of a group that was not imported: {name}")
        if ctx.db.get(GroupMember, (user_id, name)):
            return "present"
        if before.seen and name in before.groups:
            return "imported"
        with ctx.db.begin_nested() as savepoint:
            if before.seen and not ctx.db.get(User, user_id):
                find(ctx.db, name)
            elif members.add(ctx, name, user_id, _CAUSE) and draft.created_at:
                ctx.db.get_one(GroupMember, (user_id, name)).created_at = draft.created_at
            if before.seen:
                savepoint.rollback()
        return "imported"

    return take_each(before, "memberships", rows, read, take, column="user_id")


# Check the identities of another authsite, and write them after their users.


IDENTITIES = "identities"  # the name of the part
_IDENTITIES = cast(Table, Identity.__table__)
_PROVIDER = re.compile(r"[a-z0-9]{1,32}")


def write(ctx: Context, before: Before, system: str, rows: Sequence[Row]) -> list[Outcome]:
    """Write the identities of ``rows`` in the transaction of ``ctx``; what became of every row.

    ``system``: whose ids the rows have. Raises `IntegrityError` if another process has linked one.
    """
    outcomes: list[Outcome] = []
    drafts = before.drafts(IDENTITIES, rows, identity, outcomes)
    users = before.users(ctx, system, [draft.user_id for _row, draft in drafts])
    linked = _linked(ctx, [draft.subject for _row, draft in drafts])
    ids = [new_id(system, draft.source_id) for _row, draft in drafts]
    taken = set(ctx.db.scalars(select(Identity.id).where(Identity.id.in_(ids))))
    new: list[Identity] = []
    of_present: list[Identity] = []
    for id_, (row, draft) in zip(ids, drafts, strict=True):
        try:
            user = users.owner(draft.user_id)
            made = _identity(id_, user, draft)
            owner = linked.get((made.issuer, made.subject))
            if owner not in (None, made.user_id):
                raise Fault("subject", f"another user is linked to it: {owner}")
            if owner is None and id_ in taken:
                raise Fault("id", f"another identity has this id: {draft.source_id}")
        except (Fault, ValueError) as error:
            outcomes.append(refused(row, draft.source_id, error))
            continue
        if owner is not None:
            outcomes.append(Outcome(row.number, draft.source_id, id_, "present", None, PRESENT))
            continue
        linked[made.issuer, made.subject] = made.user_id
        new.append(made)
        if user.was_here:
            of_present.append(made)
        outcomes.append(Outcome(row.number, draft.source_id, id_, "imported"))
    if new and before.seen is None:
        _insert(ctx, new)
        _tell(ctx, of_present)
    return sorted(outcomes, key=lambda outcome: outcome.row)


def _linked(ctx: Context, subjects: Sequence[str]) -> dict[tuple[str, str], uuid.UUID]:
    """The users of the identities with these subjects, by issuer and subject."""
    columns = select(Identity.issuer, Identity.subject, Identity.user_id)
    rows = ctx.db.execute(columns.where(Identity.subject.in_(subjects)))
    return {(row.issuer, row.subject): row.user_id for row in rows}


def _identity(id_: uuid.UUID, owner: Owner, draft: IdentityDraft) -> Identity:
    """The row of a draft; new here for an account that was here. Raises `Fault`."""
    if not _PROVIDER.fullmatch(draft.provider):
        raise Fault("provider", "is not the name of a provider: lower-case letters and digits")
    values: dict[str, Any] = {
        "provider": draft.provider,
        "issuer": draft.issuer,
        "subject": draft.subject,
        "email": draft.email,
    }
    require_storable(_IDENTITIES, values)
    return Identity(
        id=id_,
        user_id=owner.id,
        trusted=draft.trusted,
        created_at=(None if owner.was_here else draft.created_at) or clock.now(),
        used_at=draft.used_at,
        **values,
    )


def _insert(ctx: Context, new: Sequence[Identity]) -> None:
    columns = _IDENTITIES.columns.keys()
    ctx.db.execute(
        insert(_IDENTITIES), [{name: getattr(each, name) for name in columns} for each in new]
    )
    causes: list[About] = [{"user_id": each.user_id, "details": about(each)} for each in new]
    record_all(ctx, Event.PROVIDER_LINKED, causes)


def _tell(ctx: Context, new: Sequence[Identity]) -> None:
    """Mail those whose account could be signed in to before: it has one more way in."""
    addresses = select(User.id, User.email).where(
        User.id.in_([each.user_id for each in new]), User.email_verified_at.is_not(None)
    )
    recipients = {row.id: Recipient(row.id, row.email) for row in ctx.db.execute(addresses)}
    for each in new:
        if recipient := recipients.get(each.user_id):
            linking_service.send_linked(ctx, recipient, each.id)
