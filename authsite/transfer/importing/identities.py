"""Check the identities of another authsite, and write them after their users."""

import re
import uuid
from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import Table, insert, select

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, record_all
from authsite.platform.context import Context
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.providers.linking import mails
from authsite.users.identities.models import Identity
from authsite.users.identities.service import about
from authsite.users.models import User

from .before import Before, Owner
from .own import identity
from .report import PRESENT, Outcome, refused
from .row_values import Fault, IdentityDraft, new_id, require_storable
from .rows import Row

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
            mails.send_linked(ctx, recipient, each.id)
