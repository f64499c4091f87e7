"""What a distributed PostgreSQL of Citus' kind would not keep of the schema.

A unique constraint must contain the column by which its table is distributed. A foreign key must
point to a reference table, or to a table in the same shard: here, that of the user.
"""

from sqlalchemy import UniqueConstraint

REFERENCE, ONE_SHARD = "reference", "one shard"


def unique(table):
    """The columns of the primary key and of each unique constraint and index, as tuples."""
    found = {tuple(column.name for column in table.primary_key)}
    for each in table.constraints:
        if isinstance(each, UniqueConstraint):
            found.add(tuple(column.name for column in each.columns))
    for each in table.indexes:
        if each.unique:
            found.add(tuple(column.name for column in each.columns))
    return found


def lost_unique(table, way):
    """The unique constraints that do not contain the column ``way``; none on one node."""
    if way in (REFERENCE, ONE_SHARD):
        return set()
    return {columns for columns in unique(table) if way not in columns}


def lost_keys(table, ways):
    """The columns whose foreign keys end; ``ways``: name of a table -> how it is distributed."""
    way, lost = ways[table.name], set()
    for key in table.foreign_key_constraints:
        [column] = key.column_keys
        referred = ways[key.referred_table.name]
        in_one_shard = referred == "id" and way == column
        if not (referred == REFERENCE or in_one_shard):
            lost.add(column)
    return lost
