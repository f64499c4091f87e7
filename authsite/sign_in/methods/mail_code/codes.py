"""The codes: computed from the id of a row, so that nothing that is stored contains one.

A code such as ``WDJB-MJHT`` has 8 consonants of 20 (RFC 8628, section 6.1), which form no words:
34 bits. The link of the mail contains the id, sealed.
"""

import hmac
from datetime import datetime
from uuid import UUID

from authsite.platform.crypto.keys import Keys
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.runtime.lines import typed_code

ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
LENGTH = 8
PURPOSE, LINK_PURPOSE = "mail code", "mail code link"
MAX_TYPED = 64

_LINK = SealedFormat("16s")


def code_of(keys: Keys, row_id: UUID) -> str:
    """The code of the row with this id, as it is shown."""
    letters = _letters(keys[PURPOSE].signing.mac(row_id.bytes))
    return f"{letters[:4]}-{letters[4:]}"


def is_code(keys: Keys, row_id: UUID, typed: str) -> bool:
    """Whether ``typed`` is the code of the row; constant time.

    Upper and lower case are the same, and so are other forms of `typed_code`.
    """
    given = typed_code(typed[:MAX_TYPED]).upper().encode(errors="replace")
    matches = [
        hmac.compare_digest(_letters(mac).encode(), given)
        for mac in keys[PURPOSE].macs(row_id.bytes)
    ]
    return any(matches)


def seal_link(keys: Keys, row_id: UUID, expires_at: datetime) -> str:
    """The token of the link in the mail."""
    expires = int(expires_at.timestamp())
    return _LINK.seal(keys[LINK_PURPOSE], row_id.bytes, expires=expires)


def read_link(keys: Keys, token: str, now: datetime) -> UUID | None:
    """The id in the token of a link; None if the token is wrong or has expired."""
    values = _LINK.unseal(keys[LINK_PURPOSE], token, now)
    return UUID(bytes=values[0]) if values else None


def _letters(mac: bytes) -> str:
    number, letters = int.from_bytes(mac, "big"), []
    for _ in range(LENGTH):
        number, index = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[index])
    return "".join(letters)
