"""Usernames: PRECIS UsernameCaseMapped (RFC 8265, section 3.3) in one writing system."""

import unicodedata

from authsite.platform.i18n import _
from authsite.platform.runtime.ids import looks_like_id
from authsite.sign_in.identifiers.identifier import Identifier, InvalidIdentifier, clean_text

MAX_TYPED = 320
MIN_LENGTH, MAX_LENGTH = 3, 64  # code points

# Writing systems that one word may combine. Any other combination is an error, such as "admin" with
# a Cyrillic letter (UTS #39, section 5.2, "Highly Restrictive").
_HAN = {"LATIN", "CJK", "IDEOGRAPHIC"}
_TOGETHER = (
    _HAN | {"HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"},
    _HAN | {"HANGUL"},
    _HAN | {"BOPOMOFO"},
)
_PUNCTUATION = "._-"

# Names that would let a user pose as the site (RFC 2142, and names of common roles), without
# punctuation: "mail-er.daemon" is compared as "mailerdaemon".
_LISTED = """
    about abuse account accounts admin administrator all anonymous api auth authsite billing
    contact daemon everyone guest help helpdesk hostmaster info legal login logout mail
    mailerdaemon me moderator noc nobody noreply null official operator owner postmaster privacy
    register root security self service signin signup staff superuser support sysadmin system
    team undefined user users verify webmaster www
"""
RESERVED = frozenset(_LISTED.split())


def normalize(text: str, _region: str | None = None) -> Identifier:
    """The username in ``text``, case-mapped; ``key`` and ``display`` are equal.

    It needs a letter, so that it is not a phone number. Of the ASCII signs only ``._-`` are valid,
    so that it is not an e-mail address. Raises `InvalidIdentifier`, with the code ``not_allowed``
    for a reserved name and for one that looks like a UUID.
    """
    name = _enforced(clean_text(text, MAX_TYPED, _("Enter your username.")))
    if not MIN_LENGTH <= len(name) <= MAX_LENGTH:
        raise InvalidIdentifier(
            _("Use ${least} to ${most} characters.", {"least": MIN_LENGTH, "most": MAX_LENGTH})
        )
    if any(c.isascii() and not c.isalnum() and c not in _PUNCTUATION for c in name):
        raise InvalidIdentifier(_("Use only letters, digits and the signs . _ -"))
    alphabetic = [c for c in name if unicodedata.category(c).startswith("L")]
    if not alphabetic:
        raise InvalidIdentifier(_("Use at least one letter."))
    if not _one_writing_system(alphabetic):
        raise InvalidIdentifier(_("Use the letters of one alphabet only."))
    if "".join(c for c in name if c not in _PUNCTUATION) in RESERVED:
        raise InvalidIdentifier(_("This username is reserved. Choose another."), "not_allowed")
    if looks_like_id(name):
        raise InvalidIdentifier(
            _("Choose a username that does not look like an id."), "not_allowed"
        )
    return Identifier("username", name, name)


def _enforced(text: str) -> str:
    from precis_i18n import get_profile

    try:
        return str(get_profile("UsernameCaseMapped").enforce(text))
    except UnicodeEncodeError as error:
        raise InvalidIdentifier(_("Use letters and digits, without spaces.")) from error


def _one_writing_system(alphabetic: list[str]) -> bool:
    # The Unicode name of a letter begins with its writing system: CYRILLIC SMALL LETTER A.
    used = {unicodedata.name(character, "").partition(" ")[0] for character in alphabetic}
    return len(used) == 1 or any(used <= system for system in _TOGETHER)
