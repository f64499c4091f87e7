"""Read the passkeys of a user, or the one of a credential id, outside any transaction."""

import uuid
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, String, bindparam, false, func, select
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.base import Base
from authsite.platform.db.prepared import columns_of
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _
from authsite.sign_in.fields import read_line
from authsite.users.account import ACCOUNT_COLUMNS, Account, describe
from authsite.users.models import User

# The table of passkeys.


class Passkey(Base):
    """A passkey of a user (Web Authentication Level 3).

    ``credential_id``, ``user_handle``: in base64url; all passkeys of a user have one handle of 32
    random bytes. ``public_key``: COSE. ``rp_id``: the site that it belongs to. ``transports``:
    separated by blanks. ``backup_eligible``: it may be synced between devices; ``backed_up``: it
    is. ``uv_initialized``: it has verified its user, when it was registered or beside another
    proof, so that it counts for more than a key that was touched.
    """

    __tablename__ = "passkeys"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    credential_id: Mapped[str] = mapped_column(String(1400), unique=True)
    public_key: Mapped[bytes]
    user_handle: Mapped[str] = mapped_column(String(64))
    rp_id: Mapped[str] = mapped_column(String(253))
    sign_count: Mapped[int] = mapped_column(BigInteger)
    aaguid: Mapped[uuid.UUID]
    transports: Mapped[str] = mapped_column(String(200))
    backup_eligible: Mapped[bool]
    backed_up: Mapped[bool]
    uv_initialized: Mapped[bool] = mapped_column(server_default=false(), default=False)
    name: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


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


# Names of passkeys: who keeps it, by its AAGUID, or else the browser and system.
#
# The table has those that many users have (https://github.com/passkeydeveloper/
# passkey-authenticator-aaguids). An AAGUID proves nothing here: it is asked for without
# attestation.


MAX_NAME = 64  # characters

KEEPERS: dict[str, str] = {
    "08987058-cadc-4b81-b6e1-30de50dcbe96": "Windows Hello",
    "0ea242b4-43c4-4a1b-8b17-dd6d0b6baec6": "Keeper",
    "50726f74-6f6e-5061-7373-50726f746f6e": "Proton Pass",
    "531126d6-e717-415c-9320-3d9aa6981239": "Dashlane",
    "53414d53-554e-4700-0000-000000000000": "Samsung Pass",
    "6028b017-b1d4-4c02-b4b3-afcdafc96bb2": "Windows Hello",
    "771b48fd-d3d4-4f74-9232-fc157ab0507a": "Edge on macOS",
    "891494da-2c90-4d31-a9cd-4eab0aed1309": "Sésame",
    "9ddd1817-af5a-4672-a2b9-3e3dd95000a9": "Windows Hello",
    "adce0002-35bc-c60a-648b-0b25f1f05503": "Chrome on macOS",
    "b5397666-4885-aa6b-cebf-e52262a439a2": "Chromium",
    "b84e4048-15dc-4dd0-8640-f4f60813c8af": "NordPass",
    "bada5566-a7aa-401f-bd96-45619a55120d": "1Password",
    "d548826e-79b4-db40-a3d8-11116f7e8349": "Bitwarden",
    "dd4ec289-e01d-41c9-bb89-70fa845d4bf2": "iCloud Keychain",
    "ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4": "Google Password Manager",
    "f3809540-7f14-49c1-a8b3-8f813b225541": "Enpass",
    "fbfc3007-154e-4ecc-8c0b-6e020557d7bd": "iCloud Keychain",
    "fdb141b2-5d84-443e-8a35-4698c205a502": "KeePassXC",
}


def chosen(name: str) -> str:
    """What a user calls a passkey, as it is stored.

    Raises `ValidationFailed` for a name without visible text, and for one with line breaks or other
    control characters.
    """
    text, errors = read_line("name", name)
    if text:
        return text[:MAX_NAME].strip()
    message = _("Enter a name for the passkey.")
    raise ValidationFailed(details=errors or [FieldError("required", "name", message)])


def name_of(aaguid: UUID, agent: str | None) -> str:
    """What a new passkey is called; ``agent``: the browser that made it."""
    words = " on ".join(filter(None, describe(agent)))
    return KEEPERS.get(str(aaguid)) or words[:MAX_NAME] or "Passkey"
