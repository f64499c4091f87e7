"""A table of sealed values, as a package will have one, and what it needs."""

import uuid
from contextlib import contextmanager

from sqlalchemy import Column, MetaData, Table, Uuid, insert, select

from authsite.platform.crypto.sealing import Binding
from authsite.platform.db.sealed import SealedText

KIND = "sample"
USER = uuid.UUID(int=7)


def sample_table(metadata=None):
    """The table, in its own metadata unless one is given."""
    return Table(
        "sealed_samples",
        MetaData() if metadata is None else metadata,
        Column("id", Uuid, primary_key=True),
        Column("user_id", Uuid),
        Column("value", SealedText(KIND)),
    )


@contextmanager
def registered(metadata):
    """The table, in ``metadata`` until the block ends."""
    table = sample_table(metadata)
    try:
        yield table
    finally:
        metadata.remove(table)


def add(engine, table, keys, value, id=None):
    """A row with ``value`` sealed under the first of ``keys``; its binding."""
    binding = Binding(KIND, id or uuid.uuid4(), user=USER)
    row = {"id": binding.row, "user_id": USER, "value": keys.seal(value, binding)}
    with engine.begin() as connection:
        connection.execute(insert(table).values(row))
    return binding


def stored(engine, table):
    """The text of each row by its id."""
    with engine.connect() as connection:
        return dict(connection.execute(select(table.c.id, table.c.value)).all())
