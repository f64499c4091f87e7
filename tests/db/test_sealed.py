"""Sealing all values under the first key: in batches, again and again, and without losing one."""

import uuid

import pytest

from authsite.platform.crypto.sealing import prefix_of, sealing_key, sealing_keys
from authsite.platform.db import sealed
from authsite.platform.db.sealed import Resealed, count_needing, reseal, sealed_columns
from authsite.platform.settings import new_sealing_key
from tests.support.sealed_samples import add, sample_table, stored
from tests.support.site import SECRET

OLD, NEW = new_sealing_key(), new_sealing_key()
OLD_KEYS, BOTH = sealing_keys([OLD], [SECRET]), sealing_keys([NEW, OLD], [SECRET])


@pytest.fixture
def table(site):
    """The table of samples, empty; the functions get it by its metadata."""
    made = sample_table()
    made.create(site.database.transactional)
    yield made
    made.drop(site.database.transactional)


@pytest.fixture
def engine(site):
    return site.database.transactional


def needing_old(site, table, keys=BOTH):
    columns = sealed_columns(table.metadata)
    with site.database.autocommit.connect() as connection:
        return count_needing(connection, keys, [prefix_of(sealing_key(OLD))], columns)


def test_all_values_are_sealed_again_in_batches_and_still_open(site, table, engine, monkeypatch):
    monkeypatch.setattr(sealed, "ROWS", 2)
    values = [str(number).encode() for number in range(5)]
    bindings = [add(engine, table, OLD_KEYS, value) for value in values]
    derived = add(engine, table, sealing_keys([], [SECRET]), b"derived")
    new = add(engine, table, BOTH, b"new")
    with engine.begin() as connection:  # a value that is not there
        connection.execute(table.insert().values(id=uuid.uuid4(), value=None))
    before = stored(engine, table)
    assert needing_old(site, table) == 5

    assert reseal(site.database, BOTH, sealed_columns(table.metadata)) == Resealed(6, 0)

    after = stored(engine, table)
    only_new = sealing_keys([NEW], ["another secret"])
    for binding, value in zip((*bindings, derived), (*values, b"derived"), strict=True):
        assert only_new.open(after[binding.row], binding) == value
    assert after[new.row] == before[new.row]
    assert needing_old(site, table) == 0
    assert reseal(site.database, BOTH, sealed_columns(table.metadata)) == Resealed(0, 0)
    assert stored(engine, table) == after


def test_a_value_that_no_key_opens_stays_as_it_is_and_keeps_no_key(site, table, engine):
    """It is enrolled and unusable, also after the command: never absent."""
    unknown = add(engine, table, sealing_keys([new_sealing_key()], []), b"unknown")
    moved = add(engine, table, OLD_KEYS, b"moved")
    with engine.begin() as connection:
        to = table.update().where(table.c.id == moved.row)
        connection.execute(to.values(user_id=uuid.uuid4()))
    before = stored(engine, table)

    assert reseal(site.database, BOTH, sealed_columns(table.metadata)) == Resealed(0, 2)

    assert stored(engine, table) == before
    assert set(before) == {unknown.row, moved.row}
    assert needing_old(site, table) == 0


def test_a_value_that_changes_at_the_same_time_is_not_written_back(site, table, engine):
    binding = add(engine, table, OLD_KEYS, b"first")
    [column] = sealed_columns(table.metadata)
    with site.database.autocommit.connect() as reading:
        [[value]] = column.batches(reading)
    newer = BOTH.seal(b"second", binding)
    with engine.begin() as connection:
        connection.execute(table.update().values(value=newer))
        assert sealed.replace(connection, column, value, BOTH.seal(b"first", binding)) == 0
    assert stored(engine, table) == {binding.row: newer}
