"""Tables of users, of their login names, former addresses and former usernames."""

import uuid
from datetime import datetime
from typing import Any, Literal, TypeAlias

from sqlalchemy import (
    ColumnElement,
    ForeignKey,
    Index,
    String,
    Text,
    and_,
    false,
)
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base, partial_index
from authsite.platform.db.folded import FoldedName

Origin: TypeAlias = Literal["registered", "imported", "command", "invited", "provider"]
"""How the account came into being."""


class User(FoldedName, Base):
    """A person. Raising ``epoch`` ends everything that was issued before.

    Raising ``recovery_version`` ends the reset links that were mailed: a new password, a completed
    change of address and disabling raise it. Ending sign-ins does not, so that an intruder with a
    session cannot prevent the owner from resetting. A change of address is pending only while
    ``pending_epoch`` equals ``epoch``; see `authsite.users.former`. ``pending_by_link``: an
    administrator asked for it, so that its link alone completes it. Raising
    ``recognition_version`` ends the recognition of all browsers and addresses of the user; see
    `authsite.platform.rate_limit.recognized`.

    A link "This was not me" that was mailed to the present address before ``links_ended_at`` does
    not serve any more. It belongs to the address: only a reader of its mailbox can set it.

    ``second_factor_at``: since when a second factor is asked for after a password; NULL: it is not.
    ``factors_since``: since when the account has had a factor or passkey without a break.
    ``factor_version`` is raised by every change of them, which ends pending logins and remembered
    browsers. ``passkey_after_password``: the user wants to be asked for a passkey then.
    """

    __tablename__ = "users"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(String(254))
    pending_email: Mapped[str | None] = mapped_column(String(254))
    pending_epoch: Mapped[int | None]
    pending_expires_at: Mapped[datetime | None]
    pending_asked_at: Mapped[datetime | None]
    pending_by_link: Mapped[bool] = mapped_column(default=False, server_default=false())
    username: Mapped[str | None] = mapped_column(String(64))
    phone: Mapped[str | None] = mapped_column(String(20))
    name: Mapped[str | None] = mapped_column(String(1024))
    password_hash: Mapped[str | None] = mapped_column(String(200))
    epoch: Mapped[int] = mapped_column(default=0)
    recovery_version: Mapped[int] = mapped_column(default=0, server_default="0")
    recognition_version: Mapped[int] = mapped_column(default=0, server_default="0")
    email_verified_at: Mapped[datetime | None]
    disabled_at: Mapped[datetime | None]
    delete_at: Mapped[datetime | None]  # when a disabled user is erased
    terms_url: Mapped[str | None] = mapped_column(String(2048))  # `terms-url` at registration
    terms_accepted_at: Mapped[datetime | None]
    language: Mapped[str | None] = mapped_column(String(16))  # of mails to the user
    links_ended_at: Mapped[datetime | None]
    second_factor_at: Mapped[datetime | None]
    factors_since: Mapped[datetime | None]
    factor_version: Mapped[int] = mapped_column(default=0, server_default="0")
    passkey_after_password: Mapped[bool] = mapped_column(default=False, server_default=false())
    labels: Mapped[str | None] = mapped_column(Text)  # see `authsite.users.groups.labels`
    origin: Mapped[Origin] = mapped_column(String(16))
    last_sign_in_at: Mapped[datetime | None]  # exact to an hour; see `users.service.note_sign_in`
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


# The orders in which administrators list users; PostgreSQL's "C" is the only collation of SQLite.
Index("ix_users_newest", User.created_at, User.id)
for _name, _where in (
    ("ix_users_disabled", User.disabled_at.is_not(None)),
    ("ix_users_unconfirmed", User.email_verified_at.is_(None)),
):
    partial_index(_name, User.created_at, User.id, where=_where)
_BINARY = 'COLLATE "C"'
Index("ix_users_folded_name", "folded_name", User.id, postgresql_ops={"folded_name": _BINARY})
partial_index("ix_users_delete_at", User.delete_at, where=User.delete_at.is_not(None))


def unchanged_since(epoch: int | ColumnElement[int]) -> tuple[ColumnElement[bool], ...]:
    """The condition that the user is enabled and still has the ``epoch`` that was read before."""
    return User.epoch == epoch, User.disabled_at.is_(None)


def user_of(model: type[Any]) -> ColumnElement[bool]:
    """The condition that joins a row of ``model`` to its user: enabled, with the row's epoch."""
    return and_(User.id == model.user_id, *unchanged_since(model.user_epoch))


class LoginName(Base):
    """One normalized identifier. The primary key makes it unique over all kinds and users."""

    __tablename__ = "login_names"

    key: Mapped[str] = mapped_column(String(320), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )


# For ranges of keys that begin with a text.
Index("ix_login_names_prefix", LoginName.key, postgresql_ops={"key": _BINARY})


class FormerAddress(Base):
    """The confirmed address that a user had before a change, which can be taken back.

    ``id`` is that of the change, and ``epoch`` the user's after it. Until ``expires_at`` no other
    user can take the address; see `authsite.users.former`. ``confirmed_at`` and
    ``links_ended_at`` are the user's values for this address.
    """

    __tablename__ = "former_addresses"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    key: Mapped[str] = mapped_column(String(320), index=True)
    email: Mapped[str] = mapped_column(String(254))
    epoch: Mapped[int]
    expires_at: Mapped[datetime]
    confirmed_at: Mapped[datetime | None]
    links_ended_at: Mapped[datetime | None]


class ReleasedUsername(Base):
    """A username that was given up or erased; see `authsite.users.former`.

    ``digest``: its keyed hash. Until ``expires_at`` no user but ``user_id`` can take it.
    ``user_id`` has no foreign key, since the row outlives the user.
    """

    __tablename__ = "released_usernames"

    digest: Mapped[str] = mapped_column(String(40), primary_key=True)
    user_id: Mapped[uuid.UUID | None] = mapped_column(index=True)
    expires_at: Mapped[datetime]
