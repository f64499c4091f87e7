"""The signing keys as an operator sees them."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from authsite.platform.context import Services
from authsite.platform.runtime import clock

from .pairs import ALGORITHMS
from .rotation import opens
from .stored import State, all_keys, longest_lifetime

_ORDER: dict[State, int] = {"current": 0, "next": 1, "previous": 2}


class InspectedKey(NamedTuple):
    """One key. ``usable``: its private part opens; None for a previous key, which has none."""

    kid: str
    alg: str
    state: State
    usable: bool | None
    published: bool
    created_at: datetime
    current_at: datetime | None
    previous_at: datetime | None


def inspect(services: Services) -> Sequence[InspectedKey]:
    """All keys, of each algorithm first the one that signs. Raises SQLAlchemy's errors."""
    now, longest = clock.now(), longest_lifetime(services.database, services.settings)
    found = [
        InspectedKey(
            kid=each.kid,
            alg=each.alg,
            state=each.state,
            usable=None if each.state == "previous" else opens(services, each),
            published=each.is_published(now, longest),
            created_at=each.created_at,
            current_at=each.current_at,
            previous_at=each.previous_at,
        )
        for each in all_keys(services.database)
    ]
    return sorted(found, key=lambda k: (ALGORITHMS.index(k.alg), _ORDER[k.state]))
