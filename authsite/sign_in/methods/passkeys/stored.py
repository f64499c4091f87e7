"""Read the passkeys of a user, or the one of a credential id, outside any transaction."""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, func, select

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.prepared import columns_of
from authsite.users.account import ACCOUNT_COLUMNS, Account
from authsite.users.models import User

from .models import Passkey


class StoredPasskey(NamedTuple):
    """A passkey and its user."""

    passkey_id: UUID
    public_key: bytes
    user_handle: str
    rp_id: str
    sign_count: int
    backup_eligible: bool
    uv_initialized: bool
    disabled_at: datetime | None
    recognition_version: int
    second_factor_at: datetime | None
    factor_version: int
    account: Account


class Descriptor(NamedTuple):
    """What options say about a passkey of a user."""

    credential_id: str
    transports: str
    user_handle: str

    def as_json(self) -> dict[str, Any]:
        """As in ``allowCredentials`` and ``excludeCredentials``."""
        found: dict[str, Any] = {"type": "public-key", "id": self.credential_id}
        return {**found, "transports": self.transports.split()} if self.transports else found


BY_CREDENTIAL_ID = PreparedQuery(
    select(
        Passkey.id.label("passkey_id"),
        Passkey.public_key,
        Passkey.user_handle,
        Passkey.rp_id,
        Passkey.sign_count,
        Passkey.backup_eligible,
        Passkey.uv_initialized,
        User.disabled_at,
        User.recognition_version,
        User.second_factor_at,
        User.factor_version,
        *ACCOUNT_COLUMNS,
    )
    .join(User, User.id == Passkey.user_id)
    .where(
        Passkey.credential_id == bindparam("credential_id"), Passkey.rp_id == bindparam("rp_id")
    ),
    StoredPasskey,
)
OF_USER = PreparedQuery(
    select(*columns_of(Passkey, Descriptor))
    .where(Passkey.user_id == bindparam("user_id"), Passkey.rp_id == bindparam("rp_id"))
    .order_by(Passkey.created_at, Passkey.id),
    Descriptor,
)


class Counted(NamedTuple):
    """How many passkeys a user has."""

    passkeys: int


class Handle(NamedTuple):
    """The user handle of a user's passkeys."""

    user_handle: str


COUNT = PreparedQuery(
    select(func.count().label("passkeys"))
    .select_from(Passkey)
    .where(Passkey.user_id == bindparam("user_id")),
    Counted,
)
HANDLE = PreparedQuery(
    select(Passkey.user_handle)
    .where(Passkey.user_id == bindparam("user_id"))
    .order_by(Passkey.created_at),
    Handle,
)


def find(ctx: Context, credential_id: str, rp_id: str) -> StoredPasskey | None:
    """The passkey of this credential id and relying party, of any user."""
    return BY_CREDENTIAL_ID.one(ctx.database, credential_id=credential_id, rp_id=rp_id)


def of_user(ctx: Context, user_id: UUID, rp_id: str) -> list[Descriptor]:
    """The passkeys of a user at this relying party, in the order of their creation."""
    return OF_USER.all(ctx.database, user_id=user_id, rp_id=rp_id)


def count(ctx: Context, user_id: UUID) -> int:
    """How many passkeys the user has, those of another relying party included."""
    return COUNT.all(ctx.database, user_id=user_id)[0].passkeys


def handle_of(ctx: Context, user_id: UUID) -> str | None:
    """The user handle of all passkeys of the user, in base64url; None if there is no passkey."""
    found = HANDLE.one(ctx.database, user_id=user_id)
    return found and found.user_handle
