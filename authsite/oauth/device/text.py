"""The texts of a device code, which a program keeps, and of a user code, which a person types."""

import re
import secrets
from typing import NamedTuple
from uuid import UUID

from authsite.platform.crypto.keys import Keys
from authsite.platform.crypto.sealed import SealedFormat

PREFIX = "dc_"
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels and so no words, and no digits (RFC 8628, 6.1)
LENGTH = 8  # letters: 34 bits
_FORMAT = SealedFormat("16s", PREFIX)
_PURPOSE = "device code"
_USER_CODE = re.compile(f"[{LETTERS}]{{{LENGTH}}}")
_BETWEEN = re.compile(r"[\s._\u2010-\u2015-]+")


class DeviceText(NamedTuple):
    """The values in the text of a device code."""

    id: UUID
    expires: int  # Unix seconds


def encode(keys: Keys, code: DeviceText) -> str:
    """The text of a device code: its sealed id, with the prefix ``dc_``."""
    return _FORMAT.seal(keys[_PURPOSE], code.id.bytes, expires=code.expires)


def decode_expired(keys: Keys, text: str) -> DeviceText | None:
    """The values in ``text``, also if the code has expired; None if it is forged."""
    values = _FORMAT.unseal_expired(keys[_PURPOSE], text)
    return DeviceText(UUID(bytes=values[0]), values[1]) if values else None


def new_user_code() -> str:
    """A user code, in the form of `shown`."""
    letters = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    return f"{letters[:4]}-{letters[4:]}"


def shown(typed: str) -> str | None:
    """The user code in what a person typed, as ``BCDF-GHJK``; None if it can be none.

    In upper or lower case, with blanks and dashes anywhere.
    """
    letters = _BETWEEN.sub("", typed).upper()
    return f"{letters[:4]}-{letters[4:]}" if _USER_CODE.fullmatch(letters) else None


def digests(keys: Keys, user_code: str) -> list[str]:
    """What is stored of a user code: that of the signing key first, then those of former ones."""
    macs = keys["device user code"].macs(user_code.encode())
    return [mac.hex() for mac in macs]
