"""Kinds of login name. A new kind is one module with ``normalize``, and one line in `KINDS`.

Keys of different kinds are never equal: an e-mail address contains ``@``, the key of a phone number
begins with ``+``, and a username contains a letter and neither of these. So one text belongs to at
most one user (CWE-694).
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from authsite.platform.i18n import PluralString, _, translate
from authsite.platform.passwords.hashing import CONTROL
from authsite.platform.runtime.ids import looks_like_id
from authsite.platform.settings import mail_domain

# The value, the error and the first checks that all kinds of login name share.


@dataclass(frozen=True, slots=True)
class Identifier:
    """``key``: unique over all kinds and looked up. ``display``: stored, shown, mailed to."""

    kind: str
    key: str
    display: str


class InvalidIdentifier(ValueError):
    """The text is not an identifier of that kind. ``code``: a validation code of the API."""

    def __init__(self, message: str, code: str = "invalid") -> None:
        super().__init__(translate(message))
        self.message = message
        self.code = code


Normalize: TypeAlias = Callable[[str, str | None], Identifier]


def clean_text(text: str, longest: int, missing: str) -> str:
    """``text`` without surrounding blanks, if it is short and contains no control characters.

    Raises `InvalidIdentifier`, with the message ``missing`` if nothing is left. The length is
    checked first, since later steps may take more than linear time; control characters before the
    blanks are removed, so that a line break is an error at the end of the text too.
    """
    if len(text) > longest:
        message = PluralString(
            "Use at most ${count} character.", "Use at most ${count} characters.", longest
        )
        raise InvalidIdentifier(message, "too_long")
    if CONTROL.search(text):
        raise InvalidIdentifier(_("Leave out line breaks, tabs and other control characters."))
    text = text.strip()
    if not text:
        raise InvalidIdentifier(missing, "required")
    return text


# E-mail addresses: all spellings have one key, and look-alike characters are invalid.


MAX_EMAIL = 254  # RFC 5321, section 4.5.3.1.3, less the angle brackets (RFC errata 1690)

_EXAMPLE = _("Enter an e-mail address in the format name@example.com.")
_NOT_ASCII = _("Use an address with Latin letters before the @, without accents.")
_ROUTED = _("Use an address without %, ! and =? before the @.")

# Local parts that a relay may interpret: an encoded word (RFC 2047), which some decode before they
# split the address, and the old routing forms user%host and host!user.
_REINTERPRETED = re.compile(r"=\?|[%!]")


def normalize_email(text: str, _region: str | None = None) -> Identifier:
    """The address in ``text``: the domain in lower case and ASCII, the local part as typed.

    The key is in lower case: no mail provider gives Anna@ and anna@ to two people. The local part
    must be ASCII before normalization: NFC turns the Kelvin sign into a K, and a mail would go to
    the owner of another address (CVE-2019-19844). For the same reason a relay must not read it as
    another address. Raises `InvalidIdentifier`.
    """
    text = clean_text(text, MAX_EMAIL, _("Enter your e-mail address."))
    local, at, domain = text.rpartition("@")
    if not at:
        raise InvalidIdentifier(_EXAMPLE)
    if _REINTERPRETED.search(local):
        raise InvalidIdentifier(_ROUTED)
    if not local.isascii():
        raise InvalidIdentifier(_NOT_ASCII)
    try:
        display = f"{local}@{mail_domain(domain, local)}"
    except ValueError as error:
        raise InvalidIdentifier(_EXAMPLE) from error
    return Identifier("email", display.lower(), display)


# Phone numbers: all spellings of a number have one key (ITU-T E.164).


MAX_TYPED = 320
_PHONE_EXAMPLE = _("Enter the phone number with its country code, such as +49 30 901820.")

# Separators between digits: blanks, dashes, and the invisible direction marks that address books
# put around a number.
_SEPARATORS = "()./\N{MIDDLE DOT}"
_SEPARATOR_CATEGORIES = ("Zs", "Pd", "Cf")


def normalize_phone(text: str, region: str | None = None) -> Identifier:
    """The number in ``text`` as E.164. Without a ``region`` it needs a country code.

    Digits of every script are valid; a leading ``00`` means ``+``. Any number of possible length
    is valid, since lists of the ranges in use are never up to date. Letters are invalid, since
    "0800FLOWERS" may be the username of another user. Raises `InvalidIdentifier`.
    """
    dialled = _dialled(clean_text(text, MAX_TYPED, _("Enter your phone number.")))
    # Its tables take 16 ms and memory, and sites without phone numbers never need them.
    import phonenumbers

    try:
        number = phonenumbers.parse(dialled, region)
    except phonenumbers.NumberParseException as error:
        raise InvalidIdentifier(_PHONE_EXAMPLE) from error
    # is_possible_number() would also accept numbers without an area code.
    result = phonenumbers.is_possible_number_with_reason(number)
    if result != phonenumbers.ValidationResult.IS_POSSIBLE:
        raise InvalidIdentifier(_PHONE_EXAMPLE)
    key = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return Identifier("phone", key, key)


def _dialled(text: str) -> str:
    """The digits in ASCII, after ``+`` if they begin with the country code."""
    characters = []
    for character in text:
        digit = unicodedata.decimal(character, None)
        if digit is not None:
            characters.append(str(digit))
        elif character in "+\N{FULLWIDTH PLUS SIGN}" and not characters:
            characters.append("+")
        elif not _is_separator(character):
            raise InvalidIdentifier(_PHONE_EXAMPLE)
    dialled = "".join(characters)
    return f"+{dialled[2:]}" if dialled.startswith("00") else dialled


def _is_separator(character: str) -> bool:
    return character in _SEPARATORS or unicodedata.category(character) in _SEPARATOR_CATEGORIES


# Usernames: PRECIS UsernameCaseMapped (RFC 8265, section 3.3) in one writing system.

MIN_LENGTH, MAX_USERNAME = 3, 64  # code points

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


def normalize_username(text: str, _region: str | None = None) -> Identifier:
    """The username in ``text``, case-mapped; ``key`` and ``display`` are equal.

    It needs a letter, so that it is not a phone number. Of the ASCII signs only ``._-`` are valid,
    so that it is not an e-mail address. Raises `InvalidIdentifier`, with the code ``not_allowed``
    for a reserved name and for one that looks like a UUID.
    """
    name = _enforced(clean_text(text, MAX_TYPED, _("Enter your username.")))
    if not MIN_LENGTH <= len(name) <= MAX_USERNAME:
        raise InvalidIdentifier(
            _("Use ${least} to ${most} characters.", {"least": MIN_LENGTH, "most": MAX_USERNAME})
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
    "email": normalize_email,
    "username": normalize_username,
    "phone": normalize_phone,
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
