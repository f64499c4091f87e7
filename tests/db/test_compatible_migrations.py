"""No migration takes away what the version before needs: its processes still run then.

A migration that drops what no version uses any more declares it: ``contracts = ("users.name",)``.
"""

import pytest
from sqlalchemy import inspect, text

from authsite.platform.db import migrate
from tests.support import newer

CONTRACT = '''"""No phone numbers"""

from alembic import op

revision = "{revision}"
down_revision = "{down_revision}"
contracts = (%s)


def upgrade() -> None:
    op.drop_column("users", "phone")
'''


def schema_of(database):
    """By table: its columns, and the rules that a new row has to meet."""
    found = inspect(database.autocommit)
    return {
        table: (
            {column["name"]: column for column in found.get_columns(table)},
            set(rules_of(found, table)),
        )
        for table in found.get_table_names()
    }


def rules_of(found, table):
    for each in found.get_indexes(table):
        if each["unique"]:
            yield "unique", *each["column_names"]
    for each in found.get_unique_constraints(table):
        yield "unique", *each["column_names"]
    for each in found.get_check_constraints(table):
        yield "check", each["name"]
    for each in found.get_foreign_keys(table):
        yield "refers", *each["constrained_columns"]


def broken(before, after):
    """What a version that was written for ``before`` cannot do with ``after``."""
    for table, (columns, rules) in before.items():
        if table not in after:
            yield table
            continue
        new_columns, new_rules = after[table]
        # A rule on new columns alone: the version before leaves them NULL.
        yield from (
            f"{table}: {' '.join(rule)}"
            for rule in sorted(new_rules - rules)
            if rule[0] != "unique" or set(rule[1:]) & columns.keys()
        )
        for name, column in columns.items():
            if name not in new_columns or narrower(column, new_columns[name]):
                yield f"{table}.{name}"
        for name in new_columns.keys() - columns.keys():
            if not new_columns[name]["nullable"] and new_columns[name]["default"] is None:
                yield f"{table}.{name}: required"


def narrower(old, new):
    """Whether a column accepts less than before, or returns another type."""
    lengths = [getattr(each["type"], "length", None) for each in (old, new)]
    if None not in lengths:
        return lengths[1] < lengths[0] or (old["nullable"] and not new["nullable"])
    return str(old["type"]) != str(new["type"]) or (old["nullable"] and not new["nullable"])


def incompatible(database):
    """What each migration takes away that the version before needs, and does not declare."""
    first, *later = newer.steps()
    migrate.upgrade(database, first.revision)
    before = schema_of(database)
    for step in later:
        migrate.upgrade(database, step.revision)
        after = schema_of(database)
        declared = set(getattr(step.module, "contracts", ()))
        yield from (f"{step.revision}: {each}" for each in {*broken(before, after)} - declared)
        before = after


def test_each_version_works_with_the_schema_of_the_next(database):
    assert list(incompatible(database)) == []


def test_a_version_may_expand_the_schema(database, tmp_path):
    with newer.known(tmp_path):
        assert list(incompatible(database)) == []


@pytest.mark.parametrize(
    ("declared", "found"), [("", [f"{newer.AFTER}: users.phone"]), ("'users.phone',", [])]
)
def test_it_may_take_away_what_it_declares_alone(database, tmp_path, declared, found):
    with newer.known(tmp_path, newer.EXPAND, CONTRACT % declared):
        assert list(incompatible(database)) == found


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DROP TABLE former_addresses", "former_addresses"),
        ("ALTER TABLE users DROP COLUMN phone", "users.phone"),
        ("ALTER TABLE users RENAME COLUMN name TO full_name", "users.name"),
        ("CREATE UNIQUE INDEX one ON users (email)", "users: unique email"),
        ("ALTER TABLE users ADD COLUMN more INTEGER NOT NULL DEFAULT 0", None),
        ("ALTER TABLE users ADD COLUMN more INTEGER", None),
        ("CREATE TABLE more (id INTEGER)", None),
    ],
)
def test_a_change_that_the_version_before_does_not_survive_is_found(database, statement, found):
    assert changed_by(database, statement) == ([found] if found else [])


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("ALTER COLUMN email TYPE VARCHAR(100)", "users.email"),
        ("ALTER COLUMN email TYPE VARCHAR(500)", None),
        ("ALTER COLUMN epoch TYPE BIGINT", "users.epoch"),
        ("ALTER COLUMN name SET NOT NULL", "users.name"),
        ("ADD COLUMN more INTEGER NOT NULL", "users.more: required"),
        ("ADD CONSTRAINT adult CHECK (epoch > 0)", "users: check adult"),
    ],
)
def test_so_is_a_column_that_accepts_less(database, change, found):
    assert changed_by(database, f"ALTER TABLE users {change}") == ([found] if found else [])


def changed_by(database, statement):
    migrate.upgrade(database)
    before = schema_of(database)
    with database.transactional.begin() as connection:
        connection.execute(text(statement))
    return list(broken(before, schema_of(database)))
