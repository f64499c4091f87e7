"""Phone numbers: every spelling of a number is one E.164 key (ITU-T E.164)."""

import unicodedata

from authsite.login.identifiers.identifier import Identifier, InvalidIdentifier, trimmed
from authsite.texts import text as _

MAX_TYPED = 320
_EXAMPLE = _("Enter the phone number with its country code, such as +49 30 901820.")

# What people put between digits: blanks, dashes, and the invisible marks of direction that address
# books put around a number.
_BETWEEN = "()./\N{MIDDLE DOT}"
_BETWEEN_CATEGORIES = ("Zs", "Pd", "Cf")


def normalise(text: str, region: str | None = None) -> Identifier:
    """The number in ``text`` as E.164. Without a ``region`` the country code must be there.

    Digits of every script count, a leading ``00`` is ``+``. A number of possible length is taken:
    which ranges are in use changes faster than any list. Letters are refused, for "0800FLOWERS" may
    be somebody's username. Raises ``InvalidIdentifier``.
    """
    dialled = _dialled(trimmed(text, MAX_TYPED, _("Enter a phone number.")))
    # Loading its tables takes 16 ms and memory, which sites without phone numbers never need.
    import phonenumbers

    try:
        number = phonenumbers.parse(dialled, region)
    except phonenumbers.NumberParseException as error:
        raise InvalidIdentifier(_EXAMPLE) from error
    # Not is_possible_number(): it also takes numbers that are only dialled inside one town.
    verdict = phonenumbers.is_possible_number_with_reason(number)
    if verdict != phonenumbers.ValidationResult.IS_POSSIBLE:
        raise InvalidIdentifier(_EXAMPLE)
    key = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return Identifier("phone", key, key)


def _dialled(text: str) -> str:
    """ASCII digits, with ``+`` before them when the country code follows."""
    kept = []
    for character in text:
        digit = unicodedata.decimal(character, None)
        if digit is not None:
            kept.append(str(digit))
        elif character in "+\N{FULLWIDTH PLUS SIGN}" and not kept:
            kept.append("+")
        elif not (character in _BETWEEN or unicodedata.category(character) in _BETWEEN_CATEGORIES):
            raise InvalidIdentifier(_EXAMPLE)
    dialled = "".join(kept)
    return f"+{dialled[2:]}" if dialled.startswith("00") else dialled
