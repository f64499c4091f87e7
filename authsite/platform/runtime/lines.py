"""One line of text that people write or read: names, titles, reasons."""

import re
import unicodedata

# Letters and symbols that look like a blank, and marks that look like nothing (Unicode, UAX 44,
# Default_Ignorable_Code_Point), without what is part of many words or emojis.
INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0]")
JOINERS = "\u200c\u200d"
"""ZERO WIDTH NON-JOINER and JOINER: letters of Persian or Sinhala, and emojis, need them between
two others (Unicode, UTR 31, section 2.3)."""
# Unicode, UAX 9, Bidi_Control: they change the order in which what follows is read.
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_REFUSED = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff{_BIDI}{JOINERS}]")
_NAMES = {
    "\x00": "NULL",
    "\t": "TABULATION",
    "\n": "LINE FEED",
    "\r": "CARRIAGE RETURN",
    "\x1b": "ESCAPE",
    "\x7f": "DELETE",
    "\x85": "NEXT LINE",
}
_KINDS = {"Cc": "CONTROL CHARACTER", "Cs": "SURROGATE", "Co": "PRIVATE USE"}


class NotOneLine(ValueError):
    """A text has a character that no line has.

    ``character``: its code point and name, as ``U+000A (LINE FEED)``; ``place``: from 1.
    """

    def __init__(self, character: str, place: int) -> None:
        self.character, self.place = described(character), place
        super().__init__(f"leave out {self.character} at place {place}")


def described(character: str) -> str:
    """The code point and the name of a character that may not be visible."""
    name = _NAMES.get(character) or unicodedata.name(character, "")
    kind = _KINDS.get(unicodedata.category(character), "CHARACTER")
    return f"U+{ord(character):04X} ({name or kind})"


def one_line(text: str | None) -> str | None:
    """``text`` as it is stored: in NFC, with plain blanks, without those at its ends.

    None for a text that cannot be seen. Raises `NotOneLine` for line ends and other control
    characters, surrogates, characters for private use, bidirectional controls, and for `JOINERS`
    that do not join two letters or emojis.
    """
    for place, character in enumerate(text or "", 1):
        if _is_refused(text or "", place - 1):
            raise NotOneLine(character, place)
    line = _with_plain_blanks(unicodedata.normalize("NFC", text or ""))
    return line if _is_visible(line) else None


def as_one_line(text: str | None) -> str | None:
    """As `one_line` for a text that others have written: blanks replace what that refuses."""
    replaced = [
        " " if _is_refused(text or "", place) else character
        for place, character in enumerate(text or "")
    ]
    line = " ".join(unicodedata.normalize("NFC", "".join(replaced)).split())
    return line if _is_visible(line) else None


def folded(text: str) -> str:
    """``text`` for a comparison: in NFC, casefolded (Unicode, 3.13), without `JOINERS`."""
    bare = text.translate(dict.fromkeys(map(ord, JOINERS)))
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", bare).casefold())


def _is_refused(text: str, place: int) -> bool:
    character = text[place]
    if character.isprintable():
        return False
    if character in JOINERS:
        before = text[place - 1 : place] if place else ""
        return not (_joins(before) and _joins(text[place + 1 : place + 2]))
    return _REFUSED.match(character) is not None or unicodedata.category(character) == "Co"


def _joins(neighbor: str) -> bool:
    """Whether a letter, a mark or a symbol such as an emoji is beside a joiner.

    "Cn": an emoji that is newer than the Unicode of this Python.
    """
    kind = unicodedata.category(neighbor) if neighbor else ""
    return kind[:1] in ("L", "M", "S") or kind == "Cn"


def _with_plain_blanks(text: str) -> str:
    return "".join(
        " " if unicodedata.category(character) == "Zs" else character for character in text
    ).strip(" ")


def _is_visible(line: str) -> bool:
    """Whether there is more than blanks and marks. "Cn": this Python does not know the emoji."""
    kinds = map(unicodedata.category, INVISIBLE.sub("", line))
    return any(kind[0] in "LNPS" or kind == "Cn" for kind in kinds)


# Codes as people type or paste them.


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
