"""Reject new passwords that are too short, too long, or easy to guess.

There are no composition rules (NIST SP 800-63B-4, section 3.1.1.2): a long sentence is accepted,
``P@ss1`` is not. All characters are allowed, emoji too. Repetition does not make a password
stronger: 64 times one letter is rejected, and so is 64 times one emoji.
"""

import itertools
import math
import re
import unicodedata
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, NotRequired, TypedDict

from authsite.i18n import _
from authsite.passwords.scheme import (
    MAX_PASSWORD_BYTES,
    UnacceptablePassword,
    encode,
)

LISTED_BELOW = 64  # code points; lists of leaked passwords and phrases contain none longer
ENOUGH_GUESSES = 1_000_000
# Minimal size in bytes of a longer password after compression. Repetitions and sequences are
# smaller (64 times "a" has 12, "password" eight times 19), a phrase of 64 characters has about 64.
ENOUGH_INFORMATION = 30
# zxcvbn reads "4" as "a" or "4" and so on. Its time grows with (readings) x (length squared):
# twenty such symbols take over a second. A password with that many different symbols is not weak.
READING_BUDGET = 24_000
MIN_WITHOUT_CONTEXT = 6  # characters that must remain without the context words
YEARS = [str(year) for year in range(2020, 2040)]  # zxcvbn's list ends with 2019
# Typical of passwords that expire every quarter; zxcvbn's lists are English.
SEASONS = [
    "frühling",
    "sommer",
    "herbst",
    "januar",
    "februar",
    "märz",
    "april",
    "mai",
    "juni",
    "juli",
    "august",
    "september",
    "oktober",
    "november",
    "dezember",
]
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]+")  # of ASCII, without the blank

ADVICE = _("Take a longer one, for example four words that have nothing to do with each other.")
_REASONS = {
    "context": _("This is made of your name, your address or the name of this site."),
    "passwords": _("This is one of the passwords that are tried first."),
    "dictionary": _("This is a common word or name, which is tried first."),
    "spatial": _("Keys that lie side by side are tried first."),
    "repeat": _("Repeating the same characters makes a password no safer."),
    "sequence": _("Rows like abc or 1234 are tried first."),
    "regex": _("Years are tried first."),
    "years": _("Years are tried first."),
    "seasons": _("Seasons and months are tried first."),
    "date": _("Dates are tried first."),
}


class Weakness(NamedTuple):
    """Why a password is rejected: an error code of the API, and a message for the user."""

    code: str
    message: str


class Match(TypedDict):
    """A part of a password that zxcvbn recognizes; the fields that are used here."""

    pattern: str
    token: str
    dictionary_name: NotRequired[str]


def find_weakness(
    password: str, min_length: int, context_words: Iterable[str | None]
) -> Weakness | None:
    """Why ``password`` is rejected, or None. ``min_length`` counts code points.

    ``context_words``: what an attacker who knows the site and the user would try: site name, host,
    e-mail address, name, username, phone; None and "" are skipped. The work is bounded for every
    input (OWASP ASVS 6.2.1, 6.2.4, 6.2.9, 6.2.11).
    """
    if not password:
        return Weakness("required", _("Choose a password."))
    if len(password.encode(errors="surrogatepass")) > MAX_PASSWORD_BYTES:
        return Weakness("too_long", _("Use at most ${count} bytes.", {"count": MAX_PASSWORD_BYTES}))
    try:
        encode(password)
    except UnacceptablePassword:
        return Weakness("invalid", _("Leave out line breaks, tabs and other control characters."))
    normalized = unicodedata.normalize("NFC", password)
    if len(normalized) < min_length:
        return Weakness(
            "weak_password", _("Use at least ${count} characters.", {"count": min_length})
        )
    pattern = _repeated(normalized)
    if len(pattern) >= LISTED_BELOW:
        enough = _information(pattern) >= ENOUGH_INFORMATION
        reason: str | None = None if enough else _REASONS["repeat"]
    else:
        reason = _easy_to_guess(pattern, _parts(context_words))
        if reason not in (None, _REASONS["context"]) and pattern != normalized:
            reason = _REASONS["repeat"]
    if reason is None:
        return None
    return Weakness("weak_password", _("${reason} ${advice}", {"reason": reason, "advice": ADVICE}))


def _repeated(password: str) -> str:
    """The shortest text whose repetition is ``password``; without any, ``password`` itself."""
    return password[: (password + password).find(password, 1)]


def _information(password: str) -> int:
    """The compressed size of ``password`` in bytes; sequences such as abc count as repetition."""
    pairs = itertools.pairwise(password)
    steps = (
        f"{ord(after) - ord(before)}," if after.isascii() else after for before, after in pairs
    )
    return min(len(zlib.compress(text.encode())) for text in (password, "".join(steps)))


def _easy_to_guess(password: str, context: Sequence[str]) -> str | None:
    remaining = password.lower()
    for word in sorted(context, key=len, reverse=True):
        if len(word) > 3:
            remaining = remaining.replace(word, "")
    if len(remaining) < min(MIN_WITHOUT_CONTEXT, len(password)):
        return _REASONS["context"]
    # Imported late: only processes that set passwords need its word lists in memory.
    from zxcvbn import matching

    # Not zxcvbn.zxcvbn(): it writes the context words into a global, so concurrent threads would
    # use the words of another user.
    own = {"context": context, "years": YEARS, "seasons": SEASONS}
    ranked = {name: matching.build_ranked_dict(words) for name, words in own.items()}
    dictionaries = matching.RANKED_DICTIONARIES | ranked
    # The password itself, and a word with punctuation around it or in it (Summer2026!!), whose
    # punctuation zxcvbn rates as random characters.
    for pieces in ([password], [_PUNCTUATION.sub("", password), *_PUNCTUATION.findall(password)]):
        found = [_guesses(piece, dictionaries) for piece in pieces if piece]
        if math.prod(guesses for guesses, _match in found) < ENOUGH_GUESSES:
            return _reason(found[0][1])
    return None


def _guesses(text: str, dictionaries: Mapping[str, Mapping[str, int]]) -> tuple[float, Match]:
    """The number of guesses that zxcvbn estimates for ``text``, and the longest match in it."""
    from zxcvbn import matching, scoring

    table = matching.L33T_TABLE
    readings = math.prod(len(set(symbols) & set(text)) or 1 for symbols in table.values())
    if readings * len(text) ** 2 > READING_BUDGET:
        return math.inf, Match(pattern="bruteforce", token=text)
    matches = matching.omnimatch(text, dictionaries)
    found = scoring.most_guessable_match_sequence(text, matches)
    longest = max(found["sequence"], key=lambda match: len(match["token"]))
    return float(found["guesses"]), longest


def _reason(match: Match) -> str:
    source = match.get("dictionary_name", match["pattern"])
    return _REASONS.get(source) or _REASONS.get(match["pattern"], _("This is easy to guess."))


def _parts(context_words: Iterable[str | None]) -> list[str]:
    """The words, without punctuation, and their parts: anna.lee@… is also annalee and anna."""
    parts: dict[str, None] = {}
    for word in context_words:
        lowered = unicodedata.normalize("NFC", (word or "")[:320]).lower()
        pieces = "".join(c if c.isalnum() else " " for c in lowered).split()
        local = "".join(c for c in lowered.partition("@")[0] if c.isalnum())
        parts.update(dict.fromkeys([lowered, local, "".join(pieces), *pieces[:20]]))
    return [part for part in parts if len(part) > 2]
