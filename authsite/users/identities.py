"""The identities of users at other providers: one row for each that is linked to a user."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from sqlalchemy import (
    ColumnElement,
    ForeignKey,
    Select,
    String,
    UniqueConstraint,
    bindparam,
    delete,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, Session, mapped_column

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import pseudonym, record
from authsite.platform.context import Context, Services
from authsite.platform.db import PreparedQuery
from authsite.platform.db.base import Base
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.platform.settings.sections.providers import Provider

# The table of identities.


class Identity(Base):
    """A user can sign in as ``subject`` of ``issuer``. Nothing else identifies the person there.

    ``provider``: its name in the settings when the identity was linked or last used. ``email``: the
    address that the provider told, or that was proved by mail, when it was linked. ``trusted``:
    whether that address was proved, by a trusted provider or by mail.
    """

    __tablename__ = "identities"
    __table_args__ = (UniqueConstraint("issuer", "subject", name="uq_identities_issuer_subject"),)

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    provider: Mapped[str] = mapped_column(String(32))
    issuer: Mapped[str] = mapped_column(String(255))
    subject: Mapped[str] = mapped_column(String(255))
    email: Mapped[str | None] = mapped_column(String(254))
    trusted: Mapped[bool]
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


# Find, link, list and remove the identities of users.


MAX_LISTED = 100  # identities of one user


class NewIdentity(NamedTuple):
    """An identity that is to be linked; see `Identity`."""

    provider: str
    issuer: str
    subject: str
    email: str | None
    trusted: bool


class Identified(Protocol):
    """An identity, linked or not."""

    @property
    def provider(self) -> str: ...
    @property
    def subject(self) -> str: ...


def about(identity: Identified) -> dict[str, str]:
    """The details of an event about an identity."""
    return {"provider": identity.provider, "subject": pseudonym(identity.subject)}


class AlreadyLinked(Exception):
    """Another user, or another request, has linked the identity."""


def find(ctx: Context, issuer: str, subject: str) -> Identity | None:
    """The identity, of whatever user."""
    return ctx.db.scalar(
        select(Identity).where(Identity.issuer == issuer, Identity.subject == subject)
    )


def list_of(ctx: Context, user_id: uuid.UUID) -> Sequence[Identity]:
    """The identities of a user in the order in which they were linked, at most `MAX_LISTED`."""
    return ctx.db.scalars(_of(user_id)).all()


def _of(user_id: uuid.UUID) -> Select[Identity]:
    return (
        select(Identity)
        .where(Identity.user_id == user_id)
        .order_by(Identity.created_at, Identity.id)
        .limit(MAX_LISTED)
    )


def usable(settings: Settings, identities: Sequence[Identity]) -> list[Identity]:
    """Those with which the user can sign in: of a provider that is in the settings."""
    return [
        identity
        for identity in identities
        if (provider := settings.provider(identity.provider)) and provider.issues(identity.issuer)
    ]


def labels(settings: Settings, identities: Sequence[Identity]) -> list[str]:
    """How the providers of usable identities are called, each once."""
    return list(dict.fromkeys(label(settings, each) for each in usable(settings, identities)))


def labels_of(services: Services, user_id: uuid.UUID) -> list[str]:
    """The providers with which a user can sign in, for a mail: read outside of a request."""
    with Session(services.database.autocommit) as db:
        return labels(services.settings, db.scalars(_of(user_id)).all())


def label(settings: Settings, identity: Identified) -> str:
    """How the provider of an identity is called; its name, if it has left the settings."""
    provider = settings.provider(identity.provider)
    return provider.label if provider else identity.provider


def may_confirm(settings: Settings, identities: Sequence[Identity]) -> list[Provider]:
    """The providers with which their user can prove a sensitive change, each once.

    GitHub never tells when the person has proved there to be who they are.
    """
    names = dict.fromkeys(each.provider for each in usable(settings, identities))
    return [
        provider
        for provider in settings.providers
        if provider.name in names and provider.preset != "github"
    ]


def link(ctx: Context, user_id: uuid.UUID, new: NewIdentity) -> Identity:
    """Link an identity to a user, in the request's transaction. Raises `AlreadyLinked`.

    The caller records and mails it.
    """
    row = Identity(id=uuid.uuid4(), user_id=user_id, created_at=clock.now(), **new._asdict())
    try:
        with ctx.db.begin_nested():
            ctx.db.add(row)
    except IntegrityError as error:
        raise AlreadyLinked from error
    return row


class _Address(NamedTuple):
    """The address that a provider told."""

    email: str | None


_ADDRESS_AT = PreparedQuery(
    select(func.max(Identity.email).label("email")).where(
        Identity.user_id == bindparam("user_id"), Identity.provider == bindparam("provider")
    ),
    _Address,
)


def address_at(ctx: Context, user_id: uuid.UUID, provider: str) -> str | None:
    """The address of the user's identity at this provider, read outside of the transaction.

    Of several identities it is one of theirs. It tells the provider which account there is meant.
    """
    found = _ADDRESS_AT.one(ctx.database, user_id=user_id, provider=provider)
    return found.email if found else None


def use(ctx: Context, identity_id: uuid.UUID, provider: str) -> bool:
    """Note a sign-in with an identity, and lock its row; False if it was removed.

    So one that is removed at the same time begins no session that would outlive it. ``provider``:
    the present name in the settings of the provider that has told it.
    """
    used = ctx.db.scalar(
        update(Identity)
        .where(Identity.id == identity_id)
        .values(used_at=clock.now(), provider=provider)
        .returning(Identity.id)
        .execution_options(synchronize_session=False)
    )
    return used is not None


def note_proved(ctx: Context, identity_id: uuid.UUID, address: str) -> None:
    """Keep the ``address`` that was proved for an identity after another one had been.

    An identity whose address was never proved stays so: it does not survive a recovery.
    """
    ctx.db.execute(
        update(Identity)
        .where(Identity.id == identity_id, Identity.trusted)
        .values(email=address)
        .execution_options(synchronize_session=False)
    )


def remove(ctx: Context, user_id: uuid.UUID, *conditions: ColumnElement[bool]) -> None:
    """Remove the identities of a user that fulfil the ``conditions``; record each."""
    removed = ctx.db.scalars(
        delete(Identity)
        .where(Identity.user_id == user_id, *conditions)
        .returning(Identity)
        .execution_options(synchronize_session=False)
    ).all()
    for identity in removed:
        record(ctx, Event.PROVIDER_UNLINKED, user_id=user_id, details=about(identity))


def remove_untrusted(ctx: Context, user_id: uuid.UUID, address: str) -> None:
    """Remove all identities of a user but trusted ones with ``address``; see `remove`.

    What recovers an account calls this, with the address whose mailbox was proved: an intruder may
    have linked an identity. Addresses differ from each other in more than upper and lower case.
    """
    other_address = func.lower(Identity.email) != address.lower()
    untrusted = or_(Identity.trusted.is_(False), Identity.email.is_(None), other_address)
    remove(ctx, user_id, untrusted)
