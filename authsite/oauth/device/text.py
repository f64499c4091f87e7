"""The texts of a device code, which a program keeps, and of a user code, which a person types."""

import re
import secrets

from authsite.platform.crypto.keys import Keys
from authsite.platform.crypto.sealed import SealedId
from authsite.platform.runtime.typed import typed_code

CODE = SealedId("dc_", "device code")
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels and so no words, and no digits (RFC 8628, 6.1)
LENGTH = 8  # letters: 34 bits
_USER_CODE = re.compile(f"[{LETTERS}]{{{LENGTH}}}")
_BETWEEN = re.compile(r"[._]+")


def new_user_code() -> str:
    """A user code, in the form of `shown`."""
    letters = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    return f"{letters[:4]}-{letters[4:]}"


def shown(typed: str) -> str | None:
    """The user code in what a person typed, as ``BCDF-GHJK``; None if it can be none.

    In upper or lower case, with blanks, dashes, dots and underscores anywhere.
    """
    letters = _BETWEEN.sub("", typed_code(typed)).upper()
    return f"{letters[:4]}-{letters[4:]}" if _USER_CODE.fullmatch(letters) else None


def digests(keys: Keys, user_code: str) -> list[str]:
    """What is stored of a user code: that of the signing key first, then those of former ones."""
    macs = keys["device user code"].macs(user_code.encode())
    return [mac.hex() for mac in macs]
