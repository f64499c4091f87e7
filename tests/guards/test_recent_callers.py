"""The memory of `guard-cache` by itself: how long, how much, and what is read together."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import OperationalError

from authsite.guards import guard_cache
from authsite.guards.guard_cache import RecentCallers
from authsite.oauth.tokens import active
from authsite.platform.runtime import clock


class Stopwatch:
    """A monotonic clock that the test moves."""

    def __init__(self):
        self.seconds = 1000.0

    def __call__(self):
        return self.seconds


def caller(lasts=3600):
    """What the memory reads of a caller."""
    return SimpleNamespace(expires=clock.now().timestamp() + lasts)


@pytest.fixture
def watch():
    return Stopwatch()


@pytest.fixture
def callers(watch):
    return RecentCallers(timedelta(seconds=1), now=watch)


def test_a_caller_is_found_until_the_lifetime_is_over(callers, watch):
    ann = callers.read("ann", caller)
    assert callers.find("ann") is ann
    watch.seconds += 0.99
    assert callers.find("ann") is ann
    watch.seconds += 0.01
    assert callers.find("ann") is None


def test_the_time_counts_from_before_the_query(callers, watch):
    def slow():
        watch.seconds += 0.8
        return caller()

    callers.read("ann", slow)
    watch.seconds += 0.3
    assert callers.find("ann") is None


def test_a_credential_that_ends_sooner_is_found_for_its_own_time(callers, watch):
    callers.read("ann", lambda: caller(lasts=0.5))
    watch.seconds += 0.6
    assert callers.find("ann") is None
    callers.read("bob", lambda: caller(lasts=-1))
    assert callers.find("bob") is None


def test_a_guard_that_refuses_leaves_nothing_behind(callers):
    def refuse():
        raise PermissionError

    with pytest.raises(PermissionError):
        callers.read("ann", refuse)
    assert callers.find("ann") is None


def test_the_memory_is_bounded(watch):
    callers = RecentCallers(timedelta(seconds=1), now=watch, size=100)
    for number in range(1000):
        callers.read(str(number), caller)
        assert callers.count() <= 100
    assert callers.find("999")
    assert callers.find("901")


def test_what_is_over_is_dropped_when_others_come(callers, watch):
    for number in range(100):
        callers.read(str(number), caller)
    watch.seconds += 1
    for number in range(50):
        callers.read(f"new {number}", caller)
    assert callers.count() == 50


class Reader:
    """Stands for the database: notes who is read together, and what became of them."""

    def __init__(self):
        self.read, self.ended, self.action = [], set(), None

    def __call__(self, callers):
        self.read.append([each.name for each in callers])
        if self.action:
            self.action()
        return [None if each.name in self.ended else each for each in callers]


@pytest.fixture
def reader():
    return Reader()


@pytest.fixture
def together(reader, watch):
    """A memory that reads together what is in use."""
    return RecentCallers(timedelta(seconds=1), reader, now=watch)


def add(callers, *names):
    for name in names:
        found = caller()
        found.name = name
        callers.read(name, lambda found=found: found)


def test_what_is_in_use_is_read_together(together, reader, watch):
    add(together, "ann", "bob", "cat")
    watch.seconds += 0.7
    add(together, "dan")
    watch.seconds += 0.4
    assert together.find("bob").name == "bob"
    # Not those whose lifetime is not half over.
    assert [sorted(names) for names in reader.read] == [["ann", "bob", "cat"]]
    for name in ("ann", "cat", "dan"):
        assert together.find(name).name == name
    assert len(reader.read) == 1


def test_what_is_used_less_often_than_once_in_a_lifetime_is_read_ahead(together, reader, watch):
    add(together, "ann", "bob")
    for _ in range(10):
        watch.seconds += 2
        assert together.find("ann").name == "ann"
        assert together.find("bob").name == "bob"
        watch.seconds += 2
        assert together.find("bob").name == "bob"
    assert [sorted(names) for names in reader.read] == [["ann", "bob"]] * 20


def test_what_expires_soon_is_read_again_while_other_threads_still_find_it(together, reader, watch):
    add(together, "ann", "bob")
    watch.seconds += 0.85
    assert together.find("ann")
    assert reader.read == []
    watch.seconds += 0.1
    seen = []
    reader.action = lambda: seen.append(together.find("bob").name)
    assert together.find("ann")
    assert seen == ["bob"]
    watch.seconds += 0.8
    assert together.find("ann")
    assert [sorted(names) for names in reader.read] == [["ann", "bob"]]


def test_a_credential_at_the_end_of_its_own_time_is_not_read_for_each_request(
    together, reader, watch, monkeypatch
):
    began = clock.now()
    moment = lambda: began + timedelta(seconds=watch.seconds - 1000)  # noqa: E731
    monkeypatch.setattr(clock, "now", moment)
    found = caller(lasts=0.05)
    found.name = "ann"
    together.read("ann", lambda: found)
    for _ in range(49):
        watch.seconds += 0.001
        assert together.find("ann")
    assert len(reader.read) < 5
    watch.seconds += 0.001
    assert together.find("ann") is None


def test_a_credential_that_has_ended_is_not_found_although_its_time_is_not_over(
    together, reader, watch
):
    add(together, "ann")
    watch.seconds += 0.95
    reader.ended = {"ann"}
    assert together.find("ann") is None


def test_what_is_not_in_use_is_neither_read_nor_kept(together, reader, watch):
    add(together, "ann", "idle")
    for _ in range(3):
        watch.seconds += 2
        assert together.find("ann")
    assert [sorted(names) for names in reader.read] == [["ann", "idle"], ["ann", "idle"], ["ann"]]
    assert together.count() == 1
    watch.seconds += guard_cache.IN_USE
    assert together.find("ann") is None
    assert len(reader.read) == 3


def test_with_a_long_lifetime_what_was_used_within_it_is_in_use(reader, watch):
    callers = RecentCallers(timedelta(seconds=60), reader, now=watch)
    add(callers, "ann", "bob")
    watch.seconds += 50
    assert callers.find("ann")
    watch.seconds += 10
    assert callers.find("ann")
    assert reader.read == [["ann"]]  # bob was used last when he was read, a minute ago


def test_what_was_read_together_counts_from_before_the_query(together, reader, watch):
    def slow():
        watch.seconds += 0.6

    add(together, "ann", "bob")
    watch.seconds += 1
    reader.action = slow
    assert together.find("ann")
    watch.seconds += 0.2
    assert together.find("bob")
    watch.seconds += 0.2
    reader.ended = {"ann", "bob"}
    assert together.find("bob") is None


def test_what_has_ended_is_gone(together, reader, watch):
    add(together, "ann", "bob")
    watch.seconds += 1
    reader.ended = {"ann", "bob"}
    assert together.find("ann") is None
    assert together.count() == 0


def test_what_is_forgotten_while_it_is_read_stays_so(together, reader, watch):
    add(together, "ann", "bob")
    watch.seconds += 1
    reader.action = lambda: together.forget("bob")
    assert together.find("ann")
    assert together.find("bob") is None


def test_while_one_thread_reads_others_do_not_wait(together, reader, watch):
    add(together, "ann", "bob")
    watch.seconds += 1
    seen = []
    reader.action = lambda: seen.append(together.find("bob"))
    assert together.find("ann")
    assert seen == [None]


def test_not_more_are_read_together_than_one_query_takes(together, reader, watch):
    names = [str(number) for number in range(200)]
    add(together, *names)
    watch.seconds += 1
    assert together.find("199")
    assert len(reader.read[0]) == guard_cache.BATCH == active.BATCH
    assert "199" in reader.read[0]


def test_an_error_of_the_database_is_raised_and_the_next_request_reads_again(
    together, reader, watch
):
    def fail():
        raise ConnectionError

    add(together, "ann")
    watch.seconds += 1
    reader.action = fail
    for _ in range(2):
        with pytest.raises(ConnectionError):
            together.find("ann")
    reader.action = None
    assert together.find("ann")


def test_the_memory_does_not_hold_the_credential(callers):
    callers.read("at_secret", caller)
    assert "at_secret" not in str(vars(callers))


def test_a_database_that_fails_ends_no_lifetime(watch):
    """It is read again before the lifetime is over; if that fails, the guard reads after it."""

    def fails(_callers):
        raise OperationalError("SELECT", {}, Exception("gone"))

    callers = RecentCallers(timedelta(seconds=1), fails, now=watch)
    ann = callers.read("ann", caller)
    watch.seconds += 0.95
    assert callers.find("ann") is ann
    watch.seconds += 0.05
    assert callers.find("ann") is None
