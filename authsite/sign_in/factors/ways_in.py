"""The ways in which a user can begin a sign-in; a mailbox is none."""

from collections.abc import Sequence

from sqlalchemy import exists, select

from authsite.platform.context import Context
from authsite.platform.settings.relying_party import relying_party
from authsite.sign_in.methods.passkeys.models import Passkey
from authsite.users.identities import service as identities
from authsite.users.identities.models import Identity
from authsite.users.models import User


def can_sign_in(ctx: Context, user: User, linked: Sequence[Identity]) -> bool:
    """Whether the user has a password, an identity of ``linked`` or a passkey that can be used.

    A passkey that has not verified its user yet signs in beside another proof alone.

    Read in the request's transaction, after what is removed is gone from it.
    """
    if user.password_hash is not None or identities.usable(ctx.settings, linked):
        return True
    party = relying_party(ctx.settings)
    if party is None:
        return False
    usable = exists().where(
        Passkey.user_id == user.id, Passkey.rp_id == party.id, Passkey.uv_initialized
    )
    return bool(ctx.db.scalar(select(usable)))
