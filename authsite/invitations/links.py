"""The token of a mailed link: it names an invitation, and which of its mails it was in."""

from datetime import datetime
from uuid import UUID

from authsite.platform.context import Context
from authsite.platform.crypto.keys import KeyRing
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.runtime import clock

from .errors import InvalidInvitation

PURPOSE = "invitation link"
PAGE = "/invitation"
_FORMAT = SealedFormat("16sI")  # id and version


def make(ring: KeyRing, id_: UUID, version: int, expires: datetime) -> str:
    """The token of an invitation, valid until ``expires`` (whole seconds)."""
    return _FORMAT.seal(ring, id_.bytes, version, expires=int(expires.timestamp()))


def read(ctx: Context, token: str) -> tuple[UUID, int]:
    """The id and version that ``token`` names. Raises `InvalidInvitation`."""
    values = _FORMAT.unseal(ctx.services.keys[PURPOSE], token, clock.now())
    if values is None:
        raise InvalidInvitation
    return UUID(bytes=values[0]), values[1]
