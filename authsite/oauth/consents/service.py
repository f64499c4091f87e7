"""What a user has allowed an application: read, add to, withdraw and list it.

A client that asks for more than was allowed asks the user again. Consents of clients of our own
exist, too, where their users were asked (``prompt=consent``, and programs).
"""

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, insert, select, update

from authsite.context import Context
from authsite.oauth.scopes import parse
from authsite.platform.db import PreparedQuery
from authsite.platform.runtime import clock

from .models import Consent

NOTHING_ALLOWED = ("",)
"""What is missing when an application that asks for no scope was never allowed to sign the user
in."""
RECENT = timedelta(days=7)  # how long before a recovery an intruder may have allowed something
WITHDRAWN = "consent withdrawn"  # the column has 32 characters


class AllowedScope(NamedTuple):
    """The scope of a consent."""

    scope: str


class ListedConsent(NamedTuple):
    """A consent as lists show it, with the name of the client."""

    client_id: UUID
    name: str
    scope: str
    created_at: datetime
    used_at: datetime | None

    @property
    def scopes(self) -> list[str]:
        """The scopes that are allowed."""
        return parse(self.scope)


ALLOWED = PreparedQuery(
    select(Consent.scope).where(
        Consent.user_id == bindparam("user_id"), Consent.client_id == bindparam("client_id")
    ),
    AllowedScope,
)


def missing(ctx: Context, user_id: UUID, client_id: UUID, scope: str) -> tuple[str, ...]:
    """The scopes of ``scope`` that the user has not allowed the client; empty if there are none.

    Of an application without a scope that was never allowed: `NOTHING_ALLOWED`. It is read outside
    of the request's transaction.
    """
    found = ALLOWED.one(ctx.database, user_id=user_id, client_id=client_id)
    if found is None:
        return tuple(parse(scope)) or NOTHING_ALLOWED
    allowed = parse(found.scope)
    return tuple(each for each in parse(scope) if each not in allowed)


def give(ctx: Context, user_id: UUID, client_id: UUID, scope: str) -> None:
    """Allow a client ``scope``, besides what it was allowed before; recorded if it is more."""
    # So that of two requests neither writes over what the other one adds.
    of_client = Consent.user_id == user_id, Consent.client_id == client_id
    before = ctx.db.scalar(select(Consent.scope).where(*of_client))
    allowed = [] if before is None else parse(before)
    added = [each for each in parse(scope) if each not in allowed]
    if before is not None and not added:
        return
    now = clock.now()
    text = " ".join([*allowed, *added])
    if before is None:
        values = {"user_id": user_id, "client_id": client_id, "scope": text}
        ctx.db.execute(insert(Consent).values(**values, created_at=now, updated_at=now))
    else:
        ctx.db.execute(
            update(Consent)
            .where(*of_client)
            .values(scope=text, updated_at=now)
            .execution_options(synchronize_session=False)
        )


def note_use(ctx: Context, user_id: UUID, client_id: UUID) -> bool:
    """Note a sign-in at a client, and lock the consent; False if there is none any more.

    Call it in the transaction that stores the code: then a consent that is withdrawn at the same
    time leaves no code behind. A client of our own may have no consent.
    """
    used = ctx.db.scalar(
        update(Consent)
        .where(Consent.user_id == user_id, Consent.client_id == client_id)
        .values(used_at=clock.now())
        .returning(Consent.client_id)
        .execution_options(synchronize_session=False)
    )
    return used is not None
