"""What a person may log in with. A new kind is one module with ``normalise``, and one line here.

The keys of different kinds never meet: an e-mail address has an ``@``, a phone number's key begins
with ``+``, and a username has a letter and neither. One text is at most one person's (CWE-694).
"""

import unicodedata
from collections.abc import Sequence

from authsite.login.identifiers import email, phone, username
from authsite.login.identifiers.identifier import Identifier, InvalidIdentifier, Normalise

__all__ = [
    "KINDS",
    "Identifier",
    "InvalidIdentifier",
    "candidates",
    "counting_key",
    "key_of",
    "of_kind",
]

KINDS: dict[str, Normalise] = {
    "email": email.normalise,
    "username": username.normalise,
    "phone": phone.normalise,
}


def of_kind(kind: str, text: str, region: str | None = None) -> Identifier:
    """``text`` as an identifier of that kind. ``region``: ISO 3166 code for national phone numbers.

    Raises ``InvalidIdentifier``, and ``KeyError`` for a kind that is not in ``KINDS``.
    """
    return KINDS[kind](text, region)


def key_of(kind: str, text: str, region: str | None = None) -> str:
    """The key of ``text``, or the empty text (nobody's key) for what is no such identifier."""
    try:
        return of_kind(kind, text, region).key
    except InvalidIdentifier:
        return ""


def candidates(text: str, kinds: Sequence[str], region: str | None = None) -> list[Identifier]:
    """What ``text``, typed as a login name, can be among ``kinds``: at most one, or nothing."""
    found = []
    for kind in kinds:
        try:
            found.append(of_kind(kind, text, region))
        except InvalidIdentifier:
            continue
    return found


def counting_key(text: str, kinds: Sequence[str], region: str | None = None) -> str:
    """What attempts on ``text`` are counted under: the key it is looked up by, however it is
    written; for a text that can be nobody's name, the text itself.
    """
    names = candidates(text, kinds, region)
    return names[0].key if names else f"?{unicodedata.normalize('NFKC', text).strip().casefold()}"
