"""Numbers in responses."""

from typing import TypeGuard

_LIMIT = 2**53  # from here on a float may be another number, or none at all


def is_seconds(value: object) -> TypeGuard[int]:
    """Whether ``value`` is a whole number of seconds that can be calculated with."""
    return type(value) is int and 0 <= value < _LIMIT
