"""Usernames: PRECIS UsernameCaseMapped (RFC 8265, section 3.3), and no mixing of alphabets."""

import unicodedata

from authsite.login.identifiers.identifier import Identifier, InvalidIdentifier, trimmed
from authsite.login.identifiers.reserved import RESERVED
from authsite.texts import text as _

MAX_TYPED = 320
MIN_LENGTH, MAX_LENGTH = 3, 64  # code points

# Writing systems that are used together in one word; all other mixtures are a way to write a
# Cyrillic "admin" (the idea of UTS #39, section 5.2, "Highly Restrictive").
_HAN = {"LATIN", "CJK", "IDEOGRAPHIC"}
_TOGETHER = (
    _HAN | {"HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"},
    _HAN | {"HANGUL"},
    _HAN | {"BOPOMOFO"},
)
_PUNCTUATION = "._-"


def normalise(text: str, _region: str | None = None) -> Identifier:
    """The username in ``text``, case-mapped; shown as it is looked up.

    It needs a letter, so that it is no phone number, and of the ASCII signs only ``._-`` are
    allowed, so that it is no e-mail address. Raises ``InvalidIdentifier``, with the code
    ``not_allowed`` for a reserved name.
    """
    name = _enforced(trimmed(text, MAX_TYPED, _("Enter a username.")))
    if not MIN_LENGTH <= len(name) <= MAX_LENGTH:
        raise InvalidIdentifier(
            _("Use %(least)s to %(most)s characters.", least=MIN_LENGTH, most=MAX_LENGTH)
        )
    if any(c.isascii() and not c.isalnum() and c not in _PUNCTUATION for c in name):
        raise InvalidIdentifier(_("Use letters, digits, and of other signs only . _ and -"))
    letters = [c for c in name if unicodedata.category(c).startswith("L")]
    if not letters:
        raise InvalidIdentifier(_("Use at least one letter."))
    if not _one_writing_system(letters):
        raise InvalidIdentifier(_("Use the letters of one alphabet only."))
    if "".join(c for c in name if c not in _PUNCTUATION) in RESERVED:
        raise InvalidIdentifier(
            _("This name is kept for the site itself. Take another."), "not_allowed"
        )
    return Identifier("username", name, name)


def _enforced(text: str) -> str:
    from precis_i18n import get_profile

    try:
        return str(get_profile("UsernameCaseMapped").enforce(text))
    except UnicodeEncodeError as error:
        raise InvalidIdentifier(_("Use letters and digits, without blanks in between.")) from error


def _one_writing_system(letters: list[str]) -> bool:
    # The first word of a letter's Unicode name is its writing system: CYRILLIC SMALL LETTER A.
    used = {unicodedata.name(letter, "").partition(" ")[0] for letter in letters}
    return len(used) == 1 or any(used <= system for system in _TOGETHER)
