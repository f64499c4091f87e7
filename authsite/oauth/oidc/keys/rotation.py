"""Makes, rotates and removes signing keys; one process at a time.

There is always one key ahead: the next one is published as soon as the one before it signs. So
clients that keep our keys for a day know it long before it signs.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import NamedTuple

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context, Services
from authsite.platform.crypto.sealing import Unusable
from authsite.platform.db import Database
from authsite.platform.db.engine import without_time_limit
from authsite.platform.runtime import clock
from authsite.platform.tasks.background import Lock, held, own_connection, transaction

from .stored import (
    ALGORITHMS,
    State,
    StoredKey,
    add,
    all_keys,
    binding_of,
    delete_key,
    keys_in_transaction,
    longest_lifetime,
    make_current,
    make_previous,
    new_pair,
)

# Clients keep our keys for up to a day, and other processes publish a new one after a minute.
KNOWN_AFTER = timedelta(hours=25)
WAIT = 5.0  # seconds, for another process that makes keys
_POLL = 0.05  # seconds


class RotationRefused(Exception):
    """Keys cannot be rotated or removed; the message says what to do."""


class Rotated(NamedTuple):
    """Which key of an algorithm signs now, which did before, and which will be the next."""

    alg: str
    current: str
    previous: str | None
    next: str


@contextmanager
def alone(database: Database, wait: float = WAIT) -> Iterator[bool]:
    """Keep other processes from changing keys during the block; yields whether that succeeded.

    ``wait``: seconds for the block of another process. Raises SQLAlchemy's errors.
    """
    until = time.monotonic() + wait
    with own_connection(database) as connection:
        while True:
            with held(connection, Lock.SIGNING_KEYS) as acquired:
                if acquired or time.monotonic() >= until:
                    yield acquired
                    return
            time.sleep(_POLL)


def make_missing(services: Services) -> None:
    """Make the keys that a new installation lacks, unless another process does so at this moment.

    Raises SQLAlchemy's errors.
    """
    with alone(services.database) as acquired:
        if acquired:
            with transaction(services) as ctx:
                complete(ctx)


def complete(ctx: Context) -> None:
    """Add a key that signs, and the next one, to each algorithm that has none.

    A key that does not open stays: it may only be the wrong sealing key. Call it within `alone`.
    """
    without_time_limit(ctx.db.connection())  # a busy machine makes a key in some seconds
    now, keys = clock.now(), keys_in_transaction(ctx)
    promoted, made = [], []
    for alg in ALGORITHMS:
        following = find(keys, alg, "next")
        if find(keys, alg, "current") is None:
            if following is not None and opens(ctx.services, following):
                promoted.append(following.kid)
                following = None
            else:
                made.append((new_pair(alg), True))
        if following is None:
            made.append((new_pair(alg), False))
    for kid in promoted:
        make_current(ctx, kid, now)
    for pair, current in made:
        add(ctx, pair, now, current=current)


def unusable_keys(ctx: Context) -> list[StoredKey]:
    """The keys that should be able to sign, and that no sealing key opens."""
    keys = keys_in_transaction(ctx)
    return [k for k in keys if k.state != "previous" and not opens(ctx.services, k)]


def is_due(ctx: Context, alg: str, now: datetime) -> bool:
    """Whether the key of an algorithm has signed for the time in `signing-key-rotation`."""
    keys, rotation = keys_in_transaction(ctx), ctx.settings.signing_key_rotation
    current, following = find(keys, alg, "current"), find(keys, alg, "next")
    if not rotation or current is None or current.current_at is None or following is None:
        return False
    return now >= max(current.current_at + rotation, following.created_at + KNOWN_AFTER)


def rotate(ctx: Context, alg: str, *, at_once: bool = False) -> Rotated:
    """Let the next key of an algorithm sign, and publish another one as the next.

    With ``at_once`` also a key that clients may not know yet; and a new one instead of each that
    does not open. Raises `RotationRefused`. Call it within `alone`.
    """
    complete(ctx)
    now, keys = clock.now(), keys_in_transaction(ctx)
    by_state = {each.state: each for each in keys if each.alg == alg}
    states: tuple[State, State] = ("current", "next")
    current, following = (by_state[state] for state in states)
    if not at_once:
        _refuse_early(ctx, current, following, now)
    ahead = new_pair(alg)
    make_previous(ctx, current.kid, now)
    if opens(ctx.services, following):
        make_current(ctx, following.kid, now)
        kid = following.kid
    else:
        delete_key(ctx, following.kid)
        pair = new_pair(alg)
        add(ctx, pair, now, current=True)
        kid = pair.kid
    add(ctx, ahead, now)
    record(ctx, Event.KEY_ROTATED, details={"kid": kid, "alg": alg, "previous": current.kid})
    return Rotated(alg, kid, current.kid, ahead.kid)


def remove(ctx: Context, kid: str) -> StoredKey:
    """Delete a key that does not sign; another one takes the place of a next one.

    What a previous key has signed is valid no more. Raises `RotationRefused`. Call it within
    `alone`.
    """
    found = next((each for each in keys_in_transaction(ctx) if each.kid == kid), None)
    if found is None:
        raise RotationRefused(f"there is no key {kid}: `authsite keys list` shows all")
    if found.state == "current":
        raise RotationRefused(
            "this key signs: run `authsite keys rotate` first (with --now if it must not sign any"
            " more), and then this command again"
        )
    delete_key(ctx, kid)
    complete(ctx)
    record(ctx, Event.KEY_REMOVED, details={"kid": kid, "alg": found.alg})
    return found


def find(keys: list[StoredKey], alg: str, state: State) -> StoredKey | None:
    """The newest key of an algorithm in this state."""
    found = [each for each in keys if each.alg == alg and each.state == state]
    return found[-1] if found else None


def opens(services: Services, key: StoredKey) -> bool:
    """Whether a sealing key opens the private part."""
    try:
        services.sealing.open(key.private or "", binding_of(key.kid))
    except Unusable:
        return False
    return True


def _refuse_early(ctx: Context, current: StoredKey, following: StoredKey, now: datetime) -> None:
    for each in (current, following):
        if not opens(ctx.services, each):
            raise RotationRefused(
                f"no sealing-key opens the key {each.kid}: set the sealing-key that sealed it, or"
                " give --now to replace it"
            )
    known_at = following.created_at + KNOWN_AFTER
    if now < known_at:
        raise RotationRefused(
            f"clients may not know the next {following.alg} key before {clock.rfc3339(known_at)}:"
            " try again then, or give --now if the present key must not sign any more"
        )


# The signing keys as an operator sees them.


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
