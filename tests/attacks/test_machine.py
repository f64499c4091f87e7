"""A random walk through everything that a request can do, beside a model of what must hold."""

import pytest
from hypothesis import seed
from hypothesis.stateful import run_state_machine_as_test

from tests.support import extent

from .driver import Driver
from .walk import machine, memory_folder, options

STEPS = extent.volume(2_500, 50_000)


@pytest.fixture
def driver():
    with memory_folder() as folder:
        made = Driver("sqlite", folder)
        yield made
        made.site.database.dispose()


@pytest.mark.slow
@pytest.mark.control("T11")
@pytest.mark.control("T16")
@pytest.mark.control("T18")
@pytest.mark.control("T19")
@pytest.mark.control("T20")
@pytest.mark.control("T27")
def test_everything_is_accepted_exactly_as_the_model_says(driver):
    walked = machine(driver)
    if extent.ALL:
        walked = seed(extent.seed(0))(walked)
    run_state_machine_as_test(walked, settings=options(STEPS))
