"""Secrets: never shown by ``repr``, and refused when anybody could guess them (K01, K02)."""

import re
from itertools import pairwise

MIN_BYTES = 32
_MIN_DISTINCT = 8  # 32 random hex digits have fewer about once in ten million
_RUN_SHARE = 0.75  # share of neighbours that are equal or one apart, as in 0123… or aaaa…

_PLACEHOLDER = re.compile(
    r"change[-_ ]?(me|this|it)|replace[-_ ]?(me|this|it)|place[-_]?holder|example|your[-_]"
    r"|insert[-_]|keyboard[-_ ]cat",
    re.IGNORECASE,
)
# Longer words before those that they begin with. Taken out one by one: a pattern for the whole
# text would try exponentially many ways to split it.
_SAMPLE_WORD = re.compile(
    r"application|app|authsite|admin|and|asdfgh(jkl)?|a|client|default|demo|development|dev|dummy"
    r"|for|is|keys?|letmein|localhost|local|long|my|not|only|passwords?|passwd|pass|pepper|please"
    r"|production|prod|qwerty(uiop)?|sample|secrets?|session|signing|some|so|super|testing|test|the"
    r"|this|token|top|to|use|very|web|[0-9]+|[-_.! ]+",
    re.IGNORECASE,
)
# Read in public documentation, hence known to everybody.
_PUBLISHED = frozenset(
    {
        "192b9bdd22ab9ed4d12e236c78afcb9a393ec15f71bbf5dc987d54727823bcbf",  # Flask
        "09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7",  # FastAPI
        "a-string-secret-at-least-256-bits-long",  # jwt.io
        "ThisTokenIsNotSoSecretChangeIt",  # Symfony
    }
)


class Secret(str):
    """A string whose ``repr`` is hidden, so that no dump of a structure shows it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'(hidden)'"


def is_guessable(text: str) -> bool:
    """Whether ``text`` looks like a sample value, a repetition or a sequence."""
    return (
        text in _PUBLISHED
        or len(set(text)) < _MIN_DISTINCT
        or _PLACEHOLDER.search(text) is not None
        or not _SAMPLE_WORD.sub("", text)
        or _repeats(text)
        or _runs(text)
    )


def strong_secret(text: str) -> Secret:
    """A secret of at least 32 bytes that is no sample value (ASVS 13.2.3)."""
    if len(text.encode()) < MIN_BYTES:
        raise ValueError(
            f"it is shorter than {MIN_BYTES} bytes; take the output of `authsite secret new`"
        )
    if is_guessable(text):
        raise ValueError(
            "it is a sample value or easily guessed; take the output of `authsite secret new`"
        )
    return Secret(text)


def strong_secrets(text: str) -> tuple[Secret, ...]:
    """Several of them, separated by blanks or line ends: the first is used, all verify (K03)."""
    return tuple(strong_secret(word) for word in dict.fromkeys(text.split()))


def client_secret(text: str) -> Secret:
    """An OAuth client's secret: strong, and of visible ASCII only (RFC 6749, appendix A.2)."""
    if not re.fullmatch(r"[!-~]+", text):
        raise ValueError("give visible ASCII characters only, as `authsite client create` prints")
    return strong_secret(text)


def visible_secret(text: str) -> Secret:
    """A token that travels in a header: visible ASCII (how strong is checked in production)."""
    if not re.fullmatch(r"[!-~]{1,512}", text):
        raise ValueError("give up to 512 visible ASCII characters, e.g. `authsite secret new`")
    return Secret(text)


def _repeats(text: str) -> bool:
    """Whether ``text`` is one piece, at most half as long, over and over."""
    return any(
        (text[:size] * (len(text) // size + 1))[: len(text)] == text
        for size in range(1, len(text) // 2 + 1)
    )


def _runs(text: str) -> bool:
    steps = [abs(ord(a) - ord(b)) <= 1 for a, b in pairwise(text)]
    return bool(steps) and sum(steps) / len(steps) >= _RUN_SHARE
