"""Phone numbers: all spellings of a number have one key (ITU-T E.164)."""

import unicodedata

from authsite.platform.i18n import _
from authsite.sign_in.identifiers.identifier import Identifier, InvalidIdentifier, clean_text

MAX_TYPED = 320
_EXAMPLE = _("Enter the phone number with its country code, such as +49 30 901820.")

# Separators between digits: blanks, dashes, and the invisible direction marks that address books
# put around a number.
_SEPARATORS = "()./\N{MIDDLE DOT}"
_SEPARATOR_CATEGORIES = ("Zs", "Pd", "Cf")


def normalize(text: str, region: str | None = None) -> Identifier:
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
        raise InvalidIdentifier(_EXAMPLE) from error
    # is_possible_number() would also accept numbers without an area code.
    result = phonenumbers.is_possible_number_with_reason(number)
    if result != phonenumbers.ValidationResult.IS_POSSIBLE:
        raise InvalidIdentifier(_EXAMPLE)
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
            raise InvalidIdentifier(_EXAMPLE)
    dialled = "".join(characters)
    return f"+{dialled[2:]}" if dialled.startswith("00") else dialled


def _is_separator(character: str) -> bool:
    return character in _SEPARATORS or unicodedata.category(character) in _SEPARATOR_CATEGORIES
