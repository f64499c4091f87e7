"""The table of seals, and the events that a seal covers."""

from collections.abc import Iterator
from hashlib import sha256

from sqlalchemy import Connection, func, insert, select

from authsite.platform.runtime import clock

from .proofs import is_ours
from .seal import AuditKeys, Seal, Segment, line
from .stored import SEALS, events_after, is_moment, moment_of, seal_rows, seal_text

CHUNK = 1000  # events that one statement reads
SEALS_READ = 500  # seals that one statement reads


def seals(connection: Connection, *, newest_first: bool = False) -> Iterator[Seal]:
    """All seals, read in parts: the oldest first, or the newest."""
    dialect, id_ = connection.dialect.name, SEALS.c.id
    order, last = id_.desc() if newest_first else id_, None
    while True:
        statement = seal_rows(dialect).order_by(order).limit(SEALS_READ)
        if last is not None:
            statement = statement.where(id_ < last if newest_first else id_ > last)
        found = [seal_of_row(row, dialect) for row in connection.execute(statement).mappings()]
        yield from found
        if len(found) < SEALS_READ:
            return
        last = found[-1].id


def seals_with_ids(connection: Connection, ids: set[int]) -> dict[int, Seal]:
    """Those of the seals that exist, by id."""
    dialect = connection.dialect.name
    statement = seal_rows(dialect).where(SEALS.c.id.in_(ids))
    return {
        row["id"]: seal_of_row(row, dialect) for row in connection.execute(statement).mappings()
    }


def seal_of_row(row: object, dialect: str) -> Seal:
    """The seal in a row of `stored.seal_rows`."""
    values = dict(row)  # type: ignore[call-overload]
    for name in ("at", "newest_at", "key", "digest", "former_mac", "mac", "purged_mac"):
        values[name] = seal_text(values[name], dialect, moment=name in ("at", "newest_at"))
    return Seal(**values)


def newest_seal(connection: Connection, keys: AuditKeys) -> Seal | None:
    """The newest seal that authsite has made; what others have inserted after it is skipped."""
    found = seals(connection, newest_first=True)
    return next((seal for seal in found if is_ours(keys, seal)), None)


def last_number(connection: Connection, keys: AuditKeys) -> int:
    """The number of the newest seal, or 0; numbers that leave out others do not count."""
    newest = newest_seal(connection, keys)
    oldest = next((seal for seal in seals(connection) if is_ours(keys, seal)), None)
    if newest is None or oldest is None:
        return 0
    count = connection.scalar(select(func.count()).select_from(SEALS)) or 0
    return min(newest.id, oldest.id + count - 1)


def insert_seal(connection: Connection, seal: Seal) -> None:
    """Store ``seal``. Raises SQLAlchemy's errors."""
    moments = {"at": moment_of(seal.at), "newest_at": moment_of(seal.newest_at)}
    connection.execute(insert(SEALS), seal._asdict() | moments)


def read_segment(
    connection: Connection, after: int | None, last: int, at_most: int | None = None
) -> Segment | None:
    """The events with ids above ``after`` up to ``last``; None if there are none.

    ``at_most``: the largest number of them. A time that cannot be read, or is to come, counts as
    now.
    """
    content, rows, first_id, newest, oldest = sha256(), 0, None, "", None
    last_id, dialect = after, connection.dialect.name
    while at_most is None or rows < at_most:
        size = CHUNK if at_most is None else min(CHUNK, at_most - rows)
        statement = events_after(dialect, bounded=last_id is not None)
        values = {"after": last_id, "last": last, "at_most": size}
        chunk = connection.execute(statement, values).all()
        for row in chunk:
            content.update(line(*row))
            newest = max(newest, row[1])
            at = row[1] if is_moment(row[1]) else ""
            oldest = at if oldest is None else min(oldest, at)
        if chunk:
            first_id = chunk[0][0] if first_id is None else first_id
            last_id, rows = chunk[-1][0], rows + len(chunk)
        if len(chunk) < size:
            break
    if first_id is None or last_id is None:
        return None
    now = clock.now()
    newest_at = min(moment_of(newest) or now, now)
    return Segment(rows, first_id, last_id, newest_at, content.hexdigest(), oldest or "")
