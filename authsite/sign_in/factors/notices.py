"""Notices by mail about changes of the second factors and passkeys."""

from typing import Literal, TypeAlias
from uuid import UUID

from authsite.context import Context
from authsite.users.account import Account

Kind: TypeAlias = Literal[
    "factor_added",
    "factor_removed",
    "passkey_added",
    "passkey_removed",
    "recovery_codes_created",
    "recovery_code_used",
    "passkey_cloned",
]


def changed(ctx: Context, account: Account, kind: Kind, session_id: UUID | None) -> None:
    """Enqueue the notice of a change, in its transaction and after its writes."""
