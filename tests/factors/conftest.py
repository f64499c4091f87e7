"""A site with the two steps of a sign-in, and Ann."""

import pytest

from tests.factors.steps import Person, add_steps


@pytest.fixture
def steps(host_with):
    """A factory of such sites."""

    def made(**settings):
        return host_with(add_steps, **settings)

    return made


@pytest.fixture
def ann(steps):
    """A user of a site without limits."""
    return Person(steps())


@pytest.fixture
def required_now(monkeypatch):
    """``required_now(site)``: the day of `second-factor-from` has come."""
    return lambda site: monkeypatch.setitem(vars(site.cfg), "second_factor_from", None)
