"""Columns of sealed values (`platform.crypto.sealing`), and how they are sealed under a new key.

The type of a column registers it: its values are found wherever a model has one.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    Text,
    TypeDecorator,
    null,
    select,
    update,
)

from authsite.platform.crypto.sealing import Binding, SealingKeys, Unusable

from .engine import Database

ROWS = 500  # of one batch


class SealedText(TypeDecorator[str]):
    """The type of a column of sealed values of one kind.

    Its table has a primary key of one column. Values are bound to the kind, the primary key, and
    the column ``user_id`` if there is one (`SealedColumn.binding`).
    """

    impl = Text
    cache_ok = True

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind


class SealedValue(NamedTuple):
    """The sealed text of one row, and what it is bound to besides its kind."""

    row: Any
    user: Any
    text: str


class SealedColumn(NamedTuple):
    """One column of the type `SealedText`, and those that its values are bound to."""

    kind: str
    row: Column[Any]
    user: Column[Any] | None
    value: Column[Any]

    def batches(self, connection: Connection) -> Iterator[list[SealedValue]]:
        """All values, in batches in the order of their rows' keys."""
        user = null() if self.user is None else self.user
        query = (
            select(self.row, user, self.value)
            .where(self.value.is_not(None))
            .order_by(self.row)
            .limit(ROWS)
        )
        batch = query
        while found := [SealedValue(*each) for each in connection.execute(batch)]:
            yield found
            batch = query.where(self.row > found[-1].row)

    def binding(self, value: SealedValue) -> Binding:
        """What the value is bound to."""
        return Binding(self.kind, value.row, user=value.user)


class Resealed(NamedTuple):
    """How many values have a new seal, and how many no key opens: those stay as they are."""

    resealed: int
    unusable: int


def sealed_columns(metadata: MetaData) -> list[SealedColumn]:
    """Every column of the type `SealedText`."""
    found = []
    for table in metadata.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, SealedText):
                [row] = table.primary_key.columns
                user = table.columns.get("user_id")
                found.append(SealedColumn(column.type.kind, row, user, column))
    return found


def reseal(database: Database, keys: SealingKeys, columns: Sequence[SealedColumn]) -> Resealed:
    """Seal all values under the first key that another one has sealed.

    Each batch is one transaction; run again, it goes on. A value that changes at the same time
    stays as it was changed. Raises SQLAlchemy's errors.
    """
    resealed = unusable = 0
    with database.autocommit.connect() as reading:
        for column in columns:
            for batch in column.batches(reading):
                others = [each for each in batch if not each.text.startswith(keys.prefix)]
                opened = _opened(keys, column, others)
                unusable += len(others) - len(opened)
                with database.transactional.begin() as connection:
                    for value, plain in opened:
                        text = keys.seal(plain, column.binding(value))
                        resealed += replace(connection, column, value, text)
    return Resealed(resealed, unusable)


def count_needing(
    connection: Connection,
    keys: SealingKeys,
    prefixes: Sequence[str],
    columns: Sequence[SealedColumn],
) -> int:
    """How many values begin with one of ``prefixes``, those of their keys, and open."""
    count = 0
    for column in columns:
        for batch in column.batches(connection):
            theirs = [each for each in batch if each.text.startswith(tuple(prefixes))]
            count += len(_opened(keys, column, theirs))
    return count


def _opened(
    keys: SealingKeys, column: SealedColumn, values: Sequence[SealedValue]
) -> list[tuple[SealedValue, bytes]]:
    """The values that open, each with what was sealed."""
    found = []
    for each in values:
        with suppress(Unusable):
            found.append((each, keys.open(each.text, column.binding(each))))
    return found


def replace(connection: Connection, column: SealedColumn, value: SealedValue, text: str) -> int:
    """Write ``text`` in place of ``value`` unless that has changed; how many rows that were."""
    statement = (
        update(column.value.table)
        .where(column.row == value.row, column.value == value.text)
        .values({column.value: text})
    )
    return connection.execute(statement).rowcount
