"""Codes as people type or paste them."""

import unicodedata

_IGNORED = ("Cf", "Pd", "Zs", "Zl", "Zp", "Cc")
_MINUS = "\u2212"  # a mathematical sign, and no dash in Unicode


def typed_code(text: str) -> str:
    """A code without what people add to it, with the digits of any script as ASCII.

    Full-width letters become ASCII, too (NFKC). Left out are blanks, line ends, dashes of every
    kind, and format characters such as a left-to-right mark, which come along when a code is
    pasted. Other characters stay, so that the caller refuses the text.
    """
    relevant = (
        char for char in text if unicodedata.category(char) not in _IGNORED and char != _MINUS
    )
    return "".join(map(_plain, relevant))


def _plain(char: str) -> str:
    number = unicodedata.decimal(char, None)
    if number is not None:
        return str(number)
    # A superscript or a circled digit is not a digit of a script.
    return char if unicodedata.category(char) == "No" else unicodedata.normalize("NFKC", char)
