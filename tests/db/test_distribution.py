"""The page about a distributed PostgreSQL says what each table would lose there."""

import re
from pathlib import Path

import pytest

import authsite.models  # noqa: F401  all tables
from authsite.platform.db.base import Base
from tests.support.distribution import ONE_SHARD, REFERENCE, lost_keys, lost_unique

PAGE = Path(__file__).parents[2] / "docs" / "distributed-postgresql.md"
TABLES = Base.metadata.tables
_ROW = re.compile(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def rows():
    """Table -> its cells: way A, way B, unique constraints and foreign keys that end."""
    return {name: cells for name, *cells in _ROW.findall(PAGE.read_text())}


def ways(rows, at):
    """Table -> its column, ``reference`` or ``one shard``."""
    return {name: cells[at].removesuffix(" (NULL)").strip("`") for name, cells in rows.items()}


def test_each_table_has_its_row(rows):
    assert set(rows) == set(TABLES)
    for at in (0, 1):
        for name, way in ways(rows, at).items():
            assert way in (REFERENCE, ONE_SHARD) or way in TABLES[name].columns, name


def test_by_family_nothing_is_lost(rows):
    by_family = ways(rows, 0)
    for name, table in TABLES.items():
        assert lost_unique(table, by_family[name]) == set(), name
        assert lost_keys(table, by_family) == set(), name


def test_by_user_the_page_names_all_that_is_lost(rows):
    by_user = ways(rows, 1)
    for name, table in TABLES.items():
        way, _, unique, keys = by_user[name], *rows[name][1:]
        found = {tuple(each.split(", ")) for each in re.findall(r"`\(([^)]*)\)`", unique)}
        assert found == lost_unique(table, way), name
        assert set(re.findall(r"`(\w+)`", keys)) == lost_keys(table, by_user), name
        nullable = way in table.columns and bool(table.columns[way].nullable)
        assert rows[name][1].endswith(" (NULL)") is nullable, name
