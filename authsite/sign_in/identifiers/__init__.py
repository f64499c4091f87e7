"""Kinds of login name. A new kind is one module with ``normalize``, and one line in `KINDS`.

Keys of different kinds are never equal: an e-mail address contains ``@``, the key of a phone number
begins with ``+``, and a username contains a letter and neither of these. So one text belongs to at
most one user (CWE-694).
"""

import unicodedata
from collections.abc import Sequence

from authsite.sign_in.identifiers import email, phone, username
from authsite.sign_in.identifiers.identifier import Identifier, InvalidIdentifier, Normalize

__all__ = [
    "KINDS",
    "Identifier",
    "InvalidIdentifier",
    "candidates",
    "normalized_key",
    "parse_identifier",
    "rate_limit_key",
]

KINDS: dict[str, Normalize] = {
    "email": email.normalize,
    "username": username.normalize,
    "phone": phone.normalize,
}


def parse_identifier(kind: str, text: str, region: str | None = None) -> Identifier:
    """``text`` as an identifier of ``kind``. ``region``: ISO 3166 code for national phone numbers.

    Raises ``InvalidIdentifier``, and ``KeyError`` for a kind that is not in ``KINDS``.
    """
    return KINDS[kind](text, region)


def normalized_key(kind: str, text: str, region: str | None = None) -> str:
    """The key of ``text``; if it is invalid, the empty text, which is not the key of a user."""
    try:
        return parse_identifier(kind, text, region).key
    except InvalidIdentifier:
        return ""


def candidates(text: str, kinds: Sequence[str], region: str | None = None) -> list[Identifier]:
    """The identifiers of ``kinds`` that ``text`` is valid as: at most one."""
    found = []
    for kind in kinds:
        try:
            found.append(parse_identifier(kind, text, region))
        except InvalidIdentifier:
            continue
    return found


def rate_limit_key(text: str, names: Sequence[Identifier]) -> str:
    """The key that login attempts with ``text`` are counted under; ``names``: its `candidates`.

    It is the key of the look-up, so that other spellings share the count; for a text that is not a
    valid login name, it is the text itself in lower case.
    """
    return names[0].key if names else f"?{unicodedata.normalize('NFKC', text).strip().casefold()}"
