"""The growing delay, one step at a time: what is taken, and what is given back in between."""

import pytest

from authsite.platform.rate_limit import caller_limits, running_counters
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.rate_limit.storage import LimitCounter
from tests.support.acting import acting
from tests.support.statements import stepping_between

NAME = "ann@example.com"


@pytest.fixture
def limiter(site_with, frozen):
    """Three attempts in a minute."""
    site = site_with(limits="on", limits_login_account="3/minute")
    return site.app.registry["authsite"].rate_limits


def refused(limiter):
    """The seconds to wait."""
    with pytest.raises(TooManyAttempts) as caught:
        caller_limits.acquire(limiter, NAME)
    return caught.value.retry_after


def test_the_last_free_attempt_closes_and_the_delay_doubles_up_to_a_quarter_of_an_hour(
    limiter, frozen
):
    taken = [caller_limits.acquire(limiter, NAME) for _ in range(3)]
    assert [each.locked for each in taken] == [False, False, True]
    waits = []
    for _ in range(6):
        waits.append(refused(limiter))
        frozen.advance(waits[-1])
        assert caller_limits.acquire(limiter, NAME).locked
    assert waits == [60, 120, 240, 480, 900, 900]


def test_a_limit_over_more_than_that_keeps_its_own_length(site_with, frozen):
    site = site_with(limits="on", limits_login_account="1/hour")
    limiter = site.app.registry["authsite"].rate_limits
    [item] = limiter.windows[caller_limits.LOGIN]
    assert [caller_limits.delay(item, level) for level in (1, 2, 50)] == [3600] * 3
    caller_limits.acquire(limiter, NAME)
    assert refused(limiter) == 3600


def test_what_is_given_back_is_there_again(limiter):
    for _ in range(20):
        caller_limits.refund(limiter, caller_limits.acquire(limiter, NAME))
    taken = [caller_limits.acquire(limiter, NAME) for _ in range(3)]
    refused(limiter)
    caller_limits.refund(limiter, taken[2])
    caller_limits.refund(limiter, taken[0])
    assert [caller_limits.acquire(limiter, NAME).locked for _ in range(2)] == [False, True]
    assert refused(limiter) == 60


def test_after_a_lockout_a_refund_leaves_the_level(limiter, frozen):
    for _ in range(3):
        caller_limits.acquire(limiter, NAME)
    frozen.advance(60)
    for _ in range(5):
        caller_limits.refund(limiter, caller_limits.acquire(limiter, NAME))
    caller_limits.acquire(limiter, NAME)
    assert refused(limiter) == 120


def test_to_forget_is_to_begin_anew_whatever_came_before(limiter, frozen):
    for closures in range(5):
        for _ in range(3):
            caller_limits.acquire(limiter, NAME)
        assert refused(limiter) == 60
        for _ in range(closures):
            frozen.advance(refused(limiter))
            caller_limits.acquire(limiter, NAME)
        frozen.advance(1)
        caller_limits.reset(limiter, NAME)


def test_names_do_not_share_a_counter(limiter):
    for _ in range(3):
        caller_limits.acquire(limiter, NAME)
    assert not caller_limits.acquire(limiter, "bob@example.com").locked
    assert not caller_limits.acquire(limiter, NAME, "address", "192.0.2.1").locked


@pytest.mark.control("L07")
def test_whoever_comes_too_late_for_a_free_attempt_leaves_no_trace(limiter, site_with):
    site = site_with(limits="on", limits_login_account="3/minute")
    taken = [caller_limits.acquire(limiter, NAME) for _ in range(2)]

    def be_faster():
        taken.append(caller_limits.acquire(limiter, NAME))

    with stepping_between(site.database.prepared, "after", "SELECT", be_faster) as done:
        assert refused(limiter) == 60
    assert done
    for each in taken:
        caller_limits.refund(limiter, each)
    assert [caller_limits.acquire(limiter, NAME).locked for _ in range(3)] == [False, False, True]


@pytest.mark.control("L07")
def test_a_lockout_that_is_refunded_meanwhile_admits_one_attempt(limiter, site_with):
    site = site_with(limits="on", limits_login_account="3/minute")
    taken = [caller_limits.acquire(limiter, NAME) for _ in range(3)]

    def refund():
        caller_limits.refund(limiter, taken[2])

    # It has read that the account is closed; then the closure goes.
    with stepping_between(site.database.prepared, "after", "SELECT", refund) as done:
        assert refused(limiter) >= 1
    assert done
    assert caller_limits.acquire(limiter, NAME).locked
    assert refused(limiter) == 60


@pytest.mark.parametrize("storage", ["database", "memory"])
@pytest.mark.parametrize("name", ["login-account", "reauthentication", "second-factor"])
def test_lifting_limits_leaves_nothing_of_a_lockout(site_with, name, storage):
    site = site_with(limits="on", limits_storage=storage)
    limiter = site.app.registry["authsite"].rate_limits
    for closes in (False, False, False, False, True):
        assert caller_limits.acquire(limiter, NAME, name=name).locked is closes
    with pytest.raises(TooManyAttempts):
        caller_limits.acquire(limiter, NAME, name=name)
    with site.db() as db:
        assert running_counters.end(acting(db, site.app.registry["authsite"]), [NAME])
    with site.db() as db:
        assert db.query(LimitCounter).count() == 0
    for closes in (False, False, False, False, True):
        assert caller_limits.acquire(limiter, NAME, name=name).locked is closes
