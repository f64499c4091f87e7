"""Check the identities of another authsite, and write them after their users."""

import re
import uuid
from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import Table, insert, select

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, record_all
from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.users.identities.models import Identity
from authsite.users.identities.service import about

from .before import Before
from .own import identity
from .report import PRESENT, Outcome, refused
from .row_values import Fault, IdentityDraft, new_id, reported_id, require_storable
from .rows import Row

_IDENTITIES = cast(Table, Identity.__table__)
_PROVIDER = re.compile(r"[a-z0-9]{1,32}")


def write(ctx: Context, before: Before, system: str, rows: Sequence[Row]) -> list[Outcome]:
    """Write the identities of ``rows`` in the transaction of ``ctx``; what became of every row.

    ``system``: whose ids the rows have. Raises `IntegrityError` if another process has linked one.
    """
    outcomes: list[Outcome] = []
    drafts: list[tuple[Row, IdentityDraft]] = []
    for row in rows:
        try:
            if row.fault:
                raise Fault(None, row.fault)
            drafts.append((row, identity(row.values)))
        except (Fault, ValueError) as error:
            outcomes.append(refused(row, reported_id(row.values), error))
    users = before.users(ctx, system, [draft.user_id for _row, draft in drafts])
    linked = _linked(ctx, [draft.subject for _row, draft in drafts])
    new: list[Identity] = []
    for row, draft in drafts:
        id_ = new_id(system, draft.source_id)
        try:
            made = _identity(id_, users.get(draft.user_id), draft)
            owner = linked.get((made.issuer, made.subject))
            if owner not in (None, made.user_id):
                raise Fault("subject", f"another user is linked to it: {owner}")
        except (Fault, ValueError) as error:
            outcomes.append(refused(row, draft.source_id, error))
            continue
        if owner is not None:
            outcomes.append(Outcome(row.number, draft.source_id, id_, "present", None, PRESENT))
            continue
        linked[made.issuer, made.subject] = made.user_id
        new.append(made)
        outcomes.append(Outcome(row.number, draft.source_id, id_, "imported"))
    if new and before.seen is None:
        _insert(ctx, new)
    return sorted(outcomes, key=lambda outcome: outcome.row)


def _linked(ctx: Context, subjects: Sequence[str]) -> dict[tuple[str, str], uuid.UUID]:
    """The users of the identities with these subjects, by issuer and subject."""
    columns = select(Identity.issuer, Identity.subject, Identity.user_id)
    rows = ctx.db.execute(columns.where(Identity.subject.in_(subjects)))
    return {(row.issuer, row.subject): row.user_id for row in rows}


def _identity(id_: uuid.UUID, user_id: uuid.UUID | None, draft: IdentityDraft) -> Identity:
    """The row of a draft. Raises `Fault`."""
    if user_id is None:
        raise Fault("user_id", "no user has this id; see why the user was not imported")
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
        user_id=user_id,
        trusted=draft.trusted,
        created_at=draft.created_at or clock.now(),
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
