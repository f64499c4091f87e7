"""The same random walk on SQLite and on PostgreSQL has the same answers."""

from itertools import zip_longest

import pytest
from hypothesis import Phase, seed
from hypothesis.stateful import run_state_machine_as_test

from tests.support.extent import seed as seed_of
from tests.support.extent import volume

from .driver import Driver
from .walk import machine, memory_folder, options

pytestmark = pytest.mark.slow
STEPS, SEED = volume(500, 5_000), seed_of(5)


def transcript(backend):
    """Every request of the walk and its response, without ids and tokens."""
    with memory_folder() as folder:
        driver = Driver(backend, folder)
        driver.transcript = []
        try:
            run_state_machine_as_test(
                seed(SEED)(machine(driver)),
                settings=options(STEPS, database=None, phases=[Phase.generate]),
            )
        finally:
            driver.site.database.dispose()
        return driver.transcript


def test_both_databases_give_the_same_answers():
    sqlite, postgresql = transcript("sqlite"), transcript("postgresql")
    assert len(sqlite) > STEPS
    for number, (one, other) in enumerate(zip_longest(sqlite, postgresql)):
        assert one == other, f"request {number}"
