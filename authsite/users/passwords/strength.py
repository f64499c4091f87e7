"""Which passwords are refused when they are set: too short, too long, or easy to guess.

No rules of composition (NIST SP 800-63B-4, section 3.1.1.2): a long sentence is fine, and ``P@ss1``
is not.
"""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from authsite.texts import text as _
from authsite.users.passwords.scheme import (
    MAX_PASSWORD_BYTES,
    UnacceptablePassword,
    refuse_unacceptable,
)

LISTED_BELOW = 64  # code points; no list of leaked passwords and no phrase book goes beyond
ENOUGH_SCORE = 2  # of zxcvbn's 0 to 4: a million guesses and more
# zxcvbn reads "4" as "a" or "4" and so on: its time is (ways to read) x (length squared), and
# twenty such symbols take it over a second. A password of so many different symbols is not weak.
READING_BUDGET = 24_000
MIN_OF_ONES_OWN = 6  # characters that must be left when the context words are taken out
YEARS = [str(year) for year in range(2020, 2040)]  # zxcvbn's own end with 2019

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
    "date": _("Dates are tried first."),
}


class Problem(NamedTuple):
    """Why a password is refused: a validation code of the API, and a text for the person."""

    code: str
    message: str


def problem(password: str, min_length: int, context_words: Iterable[str | None]) -> Problem | None:
    """What is wrong with ``password``, or None. ``min_length`` counts code points.

    ``context_words``: what somebody who knows the site and the user would try: site name, host,
    e-mail address, name, username, phone; None and "" are skipped. The work is bounded for every
    input (OWASP ASVS 6.2.1, 6.2.4, 6.2.9, 6.2.11).
    """
    if not password:
        return Problem("required", _("Choose a password."))
    if len(password.encode(errors="surrogatepass")) > MAX_PASSWORD_BYTES:
        return Problem("too_long", _("Use at most %(count)s bytes.", count=MAX_PASSWORD_BYTES))
    try:
        refuse_unacceptable(password)
    except UnacceptablePassword:
        return Problem("invalid", _("Leave out line breaks, tabs and other control characters."))
    normalised = unicodedata.normalize("NFC", password)
    if len(normalised) < min_length:
        return Problem("weak_password", _("Use at least %(count)s characters.", count=min_length))
    if len(normalised) >= LISTED_BELOW:
        return None
    reason = _easy_to_guess(normalised, _parts(context_words))
    if reason is None:
        return None
    return Problem("weak_password", _("%(reason)s %(advice)s", reason=reason, advice=ADVICE))


def _easy_to_guess(password: str, context: Sequence[str]) -> str | None:
    left = password.lower()
    for word in sorted(context, key=len, reverse=True):
        if len(word) > 3:
            left = left.replace(word, "")
    if len(left) < min(MIN_OF_ONES_OWN, len(password)):
        return _REASONS["context"]
    # Loading zxcvbn takes its word lists into memory: only a process that sets passwords does.
    from zxcvbn import matching, scoring, time_estimates

    ways = math.prod(
        len(set(symbols) & set(password)) or 1 for symbols in matching.L33T_TABLE.values()
    )
    if ways * len(password) ** 2 > READING_BUDGET:
        return None
    # Not zxcvbn.zxcvbn(): that one writes the context words into a global, so that two threads
    # would judge by each other's user.
    own = {"context": context, "years": YEARS}
    ranked = {name: matching.build_ranked_dict(words) for name, words in own.items()}
    matches = matching.omnimatch(password, matching.RANKED_DICTIONARIES | ranked)
    found = scoring.most_guessable_match_sequence(password, matches)
    if time_estimates.guesses_to_score(found["guesses"]) >= ENOUGH_SCORE:
        return None
    return _reason(max(found["sequence"], key=lambda match: len(match["token"])))


def _reason(match: dict[str, Any]) -> str:
    source = match.get("dictionary_name", match["pattern"])
    return _REASONS.get(source) or _REASONS.get(match["pattern"], _("This is easy to guess."))


def _parts(context_words: Iterable[str | None]) -> list[str]:
    """Each word, without its punctuation, and in parts: anna.lee@… is also annalee and anna."""
    parts: dict[str, None] = {}
    for word in context_words:
        lowered = unicodedata.normalize("NFC", (word or "")[:320]).lower()
        pieces = "".join(c if c.isalnum() else " " for c in lowered).split()
        local = "".join(c for c in lowered.partition("@")[0] if c.isalnum())
        parts.update(dict.fromkeys([lowered, local, "".join(pieces), *pieces[:20]]))
    return [part for part in parts if len(part) > 2]
