"""The text of an authorization code: its sealed id, with the prefix ``ac_``."""

from typing import NamedTuple
from uuid import UUID

from authsite.platform.crypto.keys import Keys
from authsite.platform.crypto.sealed import SealedFormat

PREFIX = "ac_"
_FORMAT = SealedFormat("16s", PREFIX)
_PURPOSE = "authorization code"


class CodeText(NamedTuple):
    """The values in the text of a code."""

    id: UUID
    expires: int  # Unix seconds


def encode(keys: Keys, code: CodeText) -> str:
    """The text of a code."""
    return _FORMAT.seal(keys[_PURPOSE], code.id.bytes, expires=code.expires)


def decode_expired(keys: Keys, text: str) -> CodeText | None:
    """The values in ``text``, also if the code has expired; None if it is forged."""
    values = _FORMAT.unseal_expired(keys[_PURPOSE], text)
    return CodeText(UUID(bytes=values[0]), values[1]) if values else None
