"""Rows beside the one that a test is about: equal to it, with the lowest and the highest id.

A statement that compared the id by anything but equality would find or change one of them.
"""

from uuid import UUID

from sqlalchemy import select

LOWEST, HIGHEST = UUID(int=1), UUID(int=2**128 - 1)
BOTH = (LOWEST, HIGHEST)


def add_beside(db, row, **changes):
    """Add two copies of ``row``, with ``changes``."""
    for id_ in BOTH:
        db.add(type(row)(**values(row) | changes | {"id": id_}))
    db.flush()


def values(row):
    """The values of all columns."""
    return {column.key: getattr(row, column.key) for column in row.__table__.columns}


def stored(site, model):
    """The values of all rows, by id, as the database has them."""
    with site.db() as db:
        return {row.id: values(row) for row in db.scalars(select(model))}


def changed(before, after):
    """The ids of the rows that are not as they were before."""
    ids = before.keys() | after.keys()
    return {id_ for id_ in ids if before.get(id_) != after.get(id_)}
