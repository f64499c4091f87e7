"""Durations as they are written in the settings: ``90s``, ``15m``, ``12h``, ``30d``."""

import re
from collections.abc import Callable
from datetime import timedelta

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_WRITTEN = re.compile(r"([0-9]{1,10})([smhd]?)")

# A century from today, in seconds since 1970, needs more than 32 bits, and far fewer than 64. Its
# year is one that `datetime` supports.
CENTURY = timedelta(days=36500)


def duration(
    maximum: timedelta, *, bare_days: bool = False, zero: bool = False
) -> Callable[[str], timedelta]:
    """A parser of durations up to ``maximum``.

    With ``bare_days`` a number without a unit means days, as in Apiato's two lifetimes;
    otherwise it is an error. Zero is an error unless ``zero`` is true. The parser raises
    `ValueError` with what is accepted.
    """
    bare = " (a bare number is days)" if bare_days else ""
    least = "0 or more" if zero else "more than 0"
    most = format_duration(maximum)
    message = f"give a duration such as 90s, 15m, 12h or 30d{bare}: {least}, at most {most}"

    def parse(text: str) -> timedelta:
        parts = _WRITTEN.fullmatch(text.lower())
        if parts is None:
            raise ValueError(message)
        number, unit = int(parts[1]), parts[2] or ("d" if bare_days else "")
        if number == 0 and zero:
            return timedelta()
        # Compare before making a timedelta, which overflows for large numbers.
        if not unit or number == 0 or number > maximum / timedelta(**{_UNITS[unit]: 1}):
            raise ValueError(message)
        return timedelta(**{_UNITS[unit]: number})

    return parse


def duration_or_forever(maximum: timedelta) -> Callable[[str], timedelta | None]:
    """A parser of durations up to ``maximum``, and of ``forever``, which it returns as None."""
    return duration_or("forever", maximum)


def duration_or(word: str, maximum: timedelta) -> Callable[[str], timedelta | None]:
    """A parser of durations up to ``maximum``, and of ``word``, which it returns as None."""
    parse_duration = duration(maximum)

    def parse(text: str) -> timedelta | None:
        if text.lower() == word:
            return None
        try:
            return parse_duration(text)
        except ValueError as error:
            raise ValueError(f"{error}; or {word}") from None

    return parse


def format_duration(span: timedelta) -> str:
    """A duration in the notation of the settings: ``15m``."""
    seconds = int(span.total_seconds())
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
