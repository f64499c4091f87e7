"""Judge new passwords; reject those that are too short, too long, or easy to guess.

There are no composition rules (NIST SP 800-63B-4, section 3.1.1.2): a long sentence is accepted,
``P@ss1`` is not. All characters are allowed, emoji too. Repetition does not make a password
stronger: 64 times one letter is rejected, and so is 64 times one emoji.
"""

import itertools
import math
import re
import string
import unicodedata
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, NotRequired, TypedDict

from authsite.platform.i18n import PluralString, _
from authsite.platform.passwords.hashing import MAX_PASSWORD_BYTES, UnacceptablePassword, encode

# Words that people choose passwords of, in each language of authsite, and letters that look
# alike.
#
# zxcvbn's lists are English.


# Typical of passwords that expire every quarter.
SEASONS: Mapping[str, str] = {
    "en": """
        spring summer autumn fall winter january february march april may june july august september
        october november december
    """,
    "de": """
        frühling frühjahr sommer herbst winter januar jänner februar märz april mai juni juli august
        september oktober november dezember fruehling fruehjahr jaenner maerz
    """,
    "es": """
        primavera verano otoño invierno enero febrero marzo abril mayo junio julio agosto septiembre
        setiembre octubre noviembre diciembre
    """,
    "fr": """
        printemps été automne hiver janvier février mars avril mai juin juillet août septembre
        octobre novembre décembre
    """,
}
# What people call a password, and how they greet; the last line is of languages without pages.
PASSWORDS: Mapping[str, str] = {
    "en": "password passphrase passcode welcome letmein secret",
    "de": "passwort kennwort passphrase willkommen geheim geheimnis hallo",
    "es": "contraseña clave bienvenido bienvenida secreto hola",
    "fr": "motdepasse passe bienvenue secret bonjour soleil",
    "": """
        пароль привет senha parola wachtwoord hasło heslo lösenord salasana adgangskode passord
        şifre parole jelszó лозинка κωδικός 密码 パスワード 비밀번호
    """,
}
# Letters without a decomposition, and those of other scripts, that are drawn as Latin ones.
_ALIKE = {
    **{"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th"},
    **{"ı": "i", "ŋ": "n", "ħ": "h"},
    **dict(zip("авеёкмнорстухіјѕԁһӏ", "abeekmhopctyxijsdhl", strict=True)),
    **dict(zip("αβεικνορτυχ", "abeiknoptux", strict=True)),
}
_TABLE = str.maketrans(
    _ALIKE | {key.upper(): value.upper() for key, value in _ALIKE.items() if len(key.upper()) == 1}
)


def plain(text: str) -> str:
    """``text`` without accents, and with the Latin letters that its letters look like."""
    bare = (c for c in unicodedata.normalize("NFKD", text) if unicodedata.category(c) != "Mn")
    return unicodedata.normalize("NFC", "".join(bare)).translate(_TABLE)


def all_words(lists: Mapping[str, str]) -> list[str]:
    """The words of all languages."""
    return [word for text in lists.values() for word in text.split()]


def with_plain(words: Sequence[str]) -> list[str]:
    """The words, and what `plain` makes of them, each once."""
    return list(dict.fromkeys([*words, *map(plain, words)]))


LISTED_BELOW = 64  # code points; lists of leaked passwords and phrases contain none longer
ENOUGH_GUESSES = 1_000_000
STRONG_GUESSES = 10_000_000_000  # the best score of zxcvbn
# Minimal size in bytes of a longer password after compression. Repetitions and sequences are
# smaller (64 times "a" has 12, "password" eight times 19), a phrase of 64 characters has about 64.
ENOUGH_INFORMATION = 30
# zxcvbn reads "4" as "a" or "4" and so on. Its time grows with (readings) x (length squared):
# twenty such symbols take over a second. A password with that many different symbols is not weak.
READING_BUDGET = 24_000
MIN_WITHOUT_CONTEXT = 6  # characters that must remain without the context words
YEARS = [str(year) for year in range(2020, 2040)]  # zxcvbn's list ends with 2019
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]+")  # of ASCII, without the blank

ADVICE = _("Try four unrelated words.")
_LISTED = _("This password is too common.")
_REASONS = {
    "context": _("This is made of your name, your address or the name of this site."),
    "dictionary": _("This is little more than common words or names."),
    "words": _("This is little more than common words or names."),
    "spatial": _("Keys that lie side by side are easy to guess."),
    "repeat": _("Repeating the same characters makes a password no safer."),
    "sequence": _("Rows like abc or 1234 are easy to guess."),
    "regex": _("Years are easy to guess."),
    "years": _("Years are easy to guess."),
    "seasons": _("Seasons and months are easy to guess."),
    "date": _("Dates are easy to guess."),
}


class Weakness(NamedTuple):
    """Why a password is rejected: an error code of the API, and a message for the user."""

    code: str
    message: str


class Judgement(NamedTuple):
    """What is known of a password.

    ``weakness``: why it is rejected, or None. ``guesses``: how many an attacker needs by the
    estimate; None if the password was not estimated, since it is rejected in any case.
    """

    weakness: Weakness | None
    guesses: float | None = None


class Match(TypedDict):
    """A part of a password that zxcvbn recognizes; the fields that are used here."""

    pattern: str
    token: str
    dictionary_name: NotRequired[str]


def judge(password: str, min_length: int, context_words: Iterable[str | None]) -> Judgement:
    """The one judgement of a new password. ``min_length`` counts code points.

    ``context_words``: what an attacker who knows the site and the user would try: site name, host,
    e-mail address, name, username, phone; None and "" are skipped. The work is bounded for every
    input (OWASP ASVS 6.2.1, 6.2.4, 6.2.9, 6.2.11).
    """
    if not password:
        return Judgement(Weakness("required", _("Choose a password.")))
    if len(password.encode(errors="surrogatepass")) > MAX_PASSWORD_BYTES:
        too_long = PluralString(
            "Use at most ${count} byte.", "Use at most ${count} bytes.", MAX_PASSWORD_BYTES
        )
        return Judgement(Weakness("too_long", too_long))
    try:
        encode(password)
    except UnacceptablePassword:
        message = _("Leave out line breaks, tabs and other control characters.")
        return Judgement(Weakness("invalid", message))
    normalized = unicodedata.normalize("NFC", password)
    if len(normalized) < min_length:
        too_short = PluralString(
            "Use at least ${count} character.", "Use at least ${count} characters.", min_length
        )
        return Judgement(Weakness("weak_password", too_short))
    pattern = _repeated(normalized)
    if len(pattern) >= LISTED_BELOW:
        enough = _information(pattern) >= ENOUGH_INFORMATION
        guesses, reason = (math.inf, "") if enough else (1.0, _REASONS["repeat"])
    else:
        guesses, reason = _estimate(pattern, _parts(context_words))
        if reason != _REASONS["context"] and pattern != normalized:
            reason = _REASONS["repeat"]
    if guesses >= ENOUGH_GUESSES:
        return Judgement(None, guesses)
    message = _("${reason} ${advice}", {"reason": reason, "advice": ADVICE})
    return Judgement(Weakness("weak_password", message), guesses)


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


def _estimate(password: str, context: Sequence[str]) -> tuple[float, str]:
    """The number of guesses, and what makes ``password`` easy to guess if these are few.

    Also of its letters without accents, and of those that they look like: attackers try both.
    """
    estimates = [
        _estimate_form(form, context) for form in dict.fromkeys([password, plain(password)])
    ]
    # Of two low estimates the first has the reason, since it is about the password itself.
    return next((each for each in estimates if each[0] < ENOUGH_GUESSES), min(estimates))


def _estimate_form(password: str, context: Sequence[str]) -> tuple[float, str]:
    remaining = password.lower()
    for word in sorted(context, key=len, reverse=True):
        if len(word) > 3:
            remaining = remaining.replace(word, "")
    if len(remaining) < min(MIN_WITHOUT_CONTEXT, len(password)):
        return 1.0, _REASONS["context"]
    # Imported late: only processes that set passwords need its word lists in memory.
    from zxcvbn import matching

    # Not zxcvbn.zxcvbn(): it writes the context words into a global, so concurrent threads would
    # use the words of another user.
    dictionaries = matching.RANKED_DICTIONARIES | _own_dictionaries()
    dictionaries |= {"context": matching.build_ranked_dict(context)}
    core = password.strip(string.punctuation)
    begin, _core, end = password.partition(core) if core else ("", "", "")
    # The password itself, and a word with punctuation in it or around it (Summer2026!!), which
    # zxcvbn rates as random characters; around it alone, since it may stand for a letter in it
    # (P@ssw0rd123!).
    ways = (
        (password,),
        (_PUNCTUATION.sub("", password), *_PUNCTUATION.findall(password)),
        (core, begin, end),
    )
    estimates = []
    for pieces in filter(None, dict.fromkeys(tuple(filter(None, way)) for way in ways)):
        found = [_guesses(piece, dictionaries) for piece in pieces]
        guesses = math.prod(guesses for guesses, _match in found)
        estimates.append((guesses, _reason(password, found[0][1])))
    # Of two low estimates the first has the reason, since it is about the password as a whole.
    return next((each for each in estimates if each[0] < ENOUGH_GUESSES), min(estimates))


@cache
def _own_dictionaries() -> dict[str, dict[str, int]]:
    from zxcvbn import matching

    own = {"years": YEARS, "seasons": with_plain(all_words(SEASONS))}
    own["words"] = with_plain(all_words(PASSWORDS))
    return {name: matching.build_ranked_dict(words) for name, words in own.items()}


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


def _reason(password: str, match: Match) -> str:
    source = match.get("dictionary_name", match["pattern"])
    if source in ("passwords", "words") and match["token"] == password:
        return _LISTED
    return _REASONS.get(source) or _REASONS.get(match["pattern"], _("This is easy to guess."))


def _parts(context_words: Iterable[str | None]) -> list[str]:
    """The words, without punctuation, and their parts: anna.lee@… is also annalee and anna."""
    parts: dict[str, None] = {}
    for word in context_words:
        lowered = unicodedata.normalize("NFC", (word or "")[:320]).lower()
        pieces = "".join(c if c.isalnum() else " " for c in lowered).split()
        local = "".join(c for c in lowered.partition("@")[0] if c.isalnum())
        parts.update(dict.fromkeys([lowered, local, "".join(pieces), *pieces[:20]]))
    return [part for part in with_plain([*parts]) if len(part) > 2]
