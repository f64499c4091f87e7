"""Columns of sealed values (`authsite.crypto.sealing`), and how they are sealed under a new key.

The type of a column registers it: its values are found wherever a model has one.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    Row,
    Text,
    TypeDecorator,
    null,
    select,
    update,
)

from authsite.crypto.sealing import Binding, SealingKeys, Unusable

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


class SealedColumn(NamedTuple):
    """One column of the type `SealedText`, and those that its values are bound to."""

    kind: str
    row: Column[Any]
    user: Column[Any] | None
    value: Column[Any]

    def batches(self, connection: Connection) -> Iterator[Sequence[Row[Any]]]:
        """The rows (``row, user, value``) with a value, in batches in the order of their keys."""
        user = null() if self.user is None else self.user
        columns = self.row.label("row"), user.label("user"), self.value.label("value")
        query = select(*columns).where(self.value.is_not(None)).order_by(self.row).limit(ROWS)
        rows = connection.execute(query).all()
        while rows:
            yield rows
            rows = connection.execute(query.where(self.row > rows[-1].row)).all()

    def binding(self, row: Row[Any]) -> Binding:
        """What the value of a row of `batches` is bound to."""
        return Binding(self.kind, row.row, user=row.user)


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
            for rows in column.batches(reading):
                others = [row for row in rows if not row.value.startswith(keys.prefix)]
                opened = _opened(keys, column, others)
                unusable += len(others) - len(opened)
                with database.transactional.begin() as connection:
                    for row, value in opened:
                        text = keys.seal(value, column.binding(row))
                        resealed += replace(connection, column, row, text)
    return Resealed(resealed, unusable)


def count_needing(
    connection: Connection,
    keys: SealingKeys,
    prefixes: Sequence[str],
    columns: Sequence[SealedColumn],
) -> int:
    """How many values begin with one of ``prefixes``, those of their keys, and open."""
    return sum(
        len(_opened(keys, column, [row for row in rows if row.value.startswith(tuple(prefixes))]))
        for column in columns
        for rows in column.batches(connection)
    )


def _opened(
    keys: SealingKeys, column: SealedColumn, rows: Sequence[Row[Any]]
) -> list[tuple[Row[Any], bytes]]:
    """The rows whose values open, each with its value."""
    found = []
    for row in rows:
        with suppress(Unusable):
            found.append((row, keys.open(row.value, column.binding(row))))
    return found


def replace(connection: Connection, column: SealedColumn, row: Row[Any], text: str) -> int:
    """Write ``text`` to ``row`` unless its value has changed; how many rows that were."""
    statement = (
        update(column.value.table)
        .where(column.row == row.row, column.value == row.value)
        .values({column.value: text})
    )
    return connection.execute(statement).rowcount
