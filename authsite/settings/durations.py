"""Durations as they are written in the settings: ``90s``, ``15m``, ``12h``, ``30d``."""

import re
from collections.abc import Callable
from datetime import timedelta

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_WRITTEN = re.compile(r"([0-9]{1,10})([smhd]?)")

# A century: far from where dates and 64-bit seconds end. In seconds since 1970 the sum with
# today needs more than 32 bits.
CENTURY = timedelta(days=36500)


def duration(
    most: timedelta, *, bare_days: bool = False, zero: bool = False
) -> Callable[[str], timedelta]:
    """A parser of durations up to ``most``.

    A number without a unit is refused, or means days with ``bare_days`` (the unit of the
    specification's two lifetimes). Zero is refused unless ``zero``. The parser raises
    ValueError with what is accepted.
    """
    bare = " (a bare number is days)" if bare_days else ""
    least = "0 or more" if zero else "more than 0"
    advice = f"give a duration such as 90s, 15m, 12h or 30d{bare}: {least}, at most {_text(most)}"

    def parse(text: str) -> timedelta:
        written = _WRITTEN.fullmatch(text.lower())
        if written is None:
            raise ValueError(advice)
        number, unit = int(written[1]), written[2] or ("d" if bare_days else "")
        if number == 0 and zero:
            return timedelta()
        # The limit first: timedelta itself overflows on large numbers.
        if not unit or number == 0 or number > most / timedelta(**{_UNITS[unit]: 1}):
            raise ValueError(advice)
        return timedelta(**{_UNITS[unit]: number})

    return parse


def duration_or_forever(most: timedelta) -> Callable[[str], timedelta | None]:
    """A parser of durations up to ``most``, and of ``forever``, which is None."""
    parse_duration = duration(most)

    def parse(text: str) -> timedelta | None:
        if text.lower() == "forever":
            return None
        try:
            return parse_duration(text)
        except ValueError as error:
            raise ValueError(f"{error}; or forever") from None

    return parse


def _text(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    for letter, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds // size}{letter}"
    return f"{seconds}s"
