"""Secrets: never printed, and rejected if they can be guessed (K01, K02)."""

import hmac
import re
import secrets
from collections.abc import Iterable
from typing import NoReturn

from .values import list_of

MIN_BYTES = 32
_MIN_DISTINCT = 8  # 32 random hex digits have fewer about once in ten million
# The words of sample values. A word stands before its own prefixes.
_SAMPLE_WORD = re.compile(
    r"abcdefghijklmnopqrstuvwxyz|0123456789|1234567890|application|app|asdfghjkl|authsite|admin|and"
    r"|before|bits?|cat|change|characters?|client|default|demo|development|dev|dummy|example|for"
    r"|here|insert|is|keyboard|keys?|letmein|least|localhost|local|long|me|my|not|of|only"
    r"|passwords?|passwd|pass|pepper|place[-_]?holder|please|production|prod|qwerty(uiop)?|random"
    r"|replace|sample|secrets?|session|signing|something|some|string|super|testing|test|the|this"
    r"|token|to|use|very|web|with|your|[-_.!<> ]",
    re.IGNORECASE,
)
# From public documentation.
_PUBLISHED = frozenset(
    {
        "192b9bdd22ab9ed4d12e236c78afcb9a393ec15f71bbf5dc987d54727823bcbf",  # Flask
        "09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7",  # FastAPI
        "a-string-secret-at-least-256-bits-long",  # jwt.io
        "ThisTokenIsNotSoSecretChangeIt",  # Symfony
    }
)


HIDDEN = "(hidden)"


class Secret:
    """A secret text, which only `reveal` returns.

    It is not a string: what logs, formats, serializes or pickles a structure with a secret writes
    `HIDDEN` or fails, and does not reveal it.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text, for the one place that needs it."""
        return self._text

    def __repr__(self) -> str:
        return f"'{HIDDEN}'"

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, _spec: str) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(self._text)

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, _memo: object) -> "Secret":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled: pass what is derived from it")


class HiddenText(str):
    """A secret in the settings of a host, which must stay strings: only its ``repr`` is hidden."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"'{HIDDEN}'"


def is_guessable(text: str) -> bool:
    """Whether ``text`` is published, repeats itself, or has few characters beside sample words."""
    rest = _SAMPLE_WORD.sub("", text)
    return text in _PUBLISHED or text in (text + text)[1:-1] or len(set(rest)) < _MIN_DISTINCT


def revealed(secrets: Iterable[Secret]) -> tuple[str, ...]:
    """The texts of ``secrets``."""
    return tuple(each.reveal() for each in secrets)


def new_secret() -> str:
    """48 random bytes in base64url, in which no word of a sample value occurs by chance."""
    while is_guessable(text := secrets.token_urlsafe(48)):
        pass
    return text


def new_sealing_key() -> str:
    """32 random bytes as 64 hexadecimal digits."""
    return secrets.token_hex(32)


def strong_secret(text: str) -> Secret:
    """A secret of at least 32 bytes, not a sample value (ASVS 13.2.3). Raises `ValueError`."""
    if len(text.encode()) < MIN_BYTES:
        raise ValueError(
            f"it is shorter than {MIN_BYTES} bytes; take the output of `authsite secret new`"
        )
    if is_guessable(text):
        raise ValueError(
            "it is a sample value or easily guessed; take the output of `authsite secret new`"
        )
    return Secret(text)


# The first secret signs, all verify (K03).
strong_secrets = list_of(strong_secret)


def key_in_hex(text: str) -> Secret | None:
    """A key of 32 bytes as 64 hexadecimal digits; None for an empty text. Raises `ValueError`."""
    if text and not re.fullmatch(r"[0-9a-f]{64}", text):
        raise ValueError(
            "give 64 hexadecimal digits, as `authsite secret rotate` writes them, or remove it"
        )
    return Secret(text) if text else None


def sealing_key(text: str) -> Secret:
    """A key of 32 bytes as 64 hexadecimal digits, in upper or lower case. Raises `ValueError`."""
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise ValueError(
            "give keys of 64 hexadecimal digits; take the output of `authsite secret new"
            " --sealing-key`"
        )
    return Secret(text)


# The first key seals, all open.
sealing_keys = list_of(sealing_key)


def audit_keys(text: str) -> tuple[Secret, ...]:
    """Keys as in `key_in_hex`, separated by spaces. Raises `ValueError`.

    One that was replaced has the number of its last seal: ``…@1234``.
    """
    found = text.split()
    for each in found:
        key, at, until = each.partition("@")
        key_in_hex(key)
        if not key or (at and not re.fullmatch("[0-9]{1,18}", until)):
            raise ValueError("give @ and the number of a key's last seal, or the key alone")
    if found and "@" in found[0]:
        raise ValueError("the first key makes seals: give it without @")
    return tuple(map(Secret, found))


def client_secret(text: str) -> Secret:
    """An OAuth client's secret: strong, and of visible ASCII only (RFC 6749, appendix A.2)."""
    if not re.fullmatch(r"[!-~]+", text):
        raise ValueError("give visible ASCII characters only, as `authsite client create` prints")
    return strong_secret(text)
