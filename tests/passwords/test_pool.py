"""The hash pool: few pieces of work at once, a short queue, and an answer for every caller."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import pytest

from authsite.platform.passwords import HashCapacityExceeded, HashPool
from authsite.platform.passwords.hashing import NICENESS
from authsite.platform.runtime.processes import usable_cores
from tests.support.forks import in_forked_process

LONG = 30.0  # seconds that no test reaches unless the pool is broken


@pytest.fixture
def busy():
    """A pool of one thread which is at work until ``release`` is set."""
    pools, release = [], threading.Event()

    def make(**options):
        pool, begun = HashPool(threads=1, **options), threading.Event()
        pools.append(pool)
        callers.submit(pool.run, lambda: begun.set() or release.wait(LONG))
        assert begun.wait(LONG)
        return pool, release

    with ThreadPoolExecutor(20) as callers:
        yield make
        release.set()
    for pool in pools:
        pool.close()


def test_the_result_of_the_work_is_returned():
    assert HashPool(threads=1).run(lambda: 6 * 7) == 42


def test_the_error_of_the_work_is_raised_and_the_pool_goes_on():
    pool = HashPool(threads=1, queue=0)
    for error in (ZeroDivisionError, TimeoutError, KeyboardInterrupt):

        def fail(error=error):
            raise error

        for _ in range(3):
            with pytest.raises(error):
                pool.run(fail)
    assert pool.run(lambda: "still here") == "still here"


@pytest.mark.control("P09")
def test_beyond_the_queue_work_is_refused_at_once(busy):
    pool, release = busy(queue=2, timeout=LONG)
    with ThreadPoolExecutor(10) as callers:
        calls = [callers.submit(pool.run, lambda: "done") for _ in range(10)]
        refused = set()
        deadline = time.monotonic() + LONG
        while len(refused) < 8 and time.monotonic() < deadline:
            refused = {call for call in calls if call.done()}
        assert len(refused) == 8
        assert all(isinstance(call.exception(), HashCapacityExceeded) for call in refused)
        release.set()
        assert [call.result() for call in calls if call not in refused] == ["done"] * 2


@pytest.mark.control("P09")
def test_no_more_work_runs_at_once_than_there_are_threads():
    pool, lock = HashPool(threads=2, queue=30, timeout=LONG), threading.Lock()
    now, most = 0, 0
    together = threading.Barrier(2)

    def work():
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        together.wait(LONG)  # both threads are used
        with lock:
            now -= 1

    with ThreadPoolExecutor(20) as callers:
        done = wait([callers.submit(pool.run, work) for _ in range(20)], LONG, FIRST_EXCEPTION)
    assert not done.not_done
    assert all(call.exception() is None for call in done.done)
    assert most == 2


@pytest.mark.control("P09")
def test_work_that_has_not_begun_in_time_is_given_up_and_never_done(busy):
    pool, release = busy(queue=1, timeout=0.05)
    done = []
    for _ in range(5):  # each leaves the queue
        with pytest.raises(HashCapacityExceeded) as error:
            pool.run(lambda: done.append("too late"))
    assert error.value.retry_after > 0
    release.set()
    _run_when_free(pool, lambda: done.append("in time"))
    assert done == ["in time"]


@pytest.mark.control("P09")
def test_a_queue_that_is_too_slow_accepts_no_caller(busy):
    pool, release = busy(queue=9, timeout=LONG)
    pool._work_time.add(LONG / 5)  # as long as each of them takes
    with ThreadPoolExecutor(10) as callers:
        for waiting in range(4):
            callers.submit(pool.run, lambda: None)
            while pool.waiting <= waiting:
                time.sleep(0.001)
        with pytest.raises(HashCapacityExceeded):
            pool.run(lambda: None)
        release.set()
    _run_when_free(pool, lambda: None)


def _run_when_free(pool, work):
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        try:
            return pool.run(work)
        except HashCapacityExceeded:
            continue
    raise AssertionError("the pool stayed full")


def test_work_that_has_begun_is_waited_for():
    pool, release = HashPool(threads=1, timeout=0.05), threading.Event()

    def work():
        threading.Timer(0.3, release.set).start()
        return release.wait(LONG)

    assert _run_when_free(pool, work) is True


@pytest.mark.skipif(
    sys.platform != "linux", reason="a nice value belongs to a thread on Linux only"
)
def test_hash_threads_step_back_and_the_others_do_not():
    def niceness():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = niceness()
    assert HashPool(threads=1).run(niceness) == before + NICENESS
    assert niceness() == before


def test_a_pool_has_as_many_threads_as_the_process_has_cores_and_none_before_it_works():
    before = set(threading.enumerate())
    pool, together = HashPool(), threading.Barrier(usable_cores())
    assert set(threading.enumerate()) <= before
    with ThreadPoolExecutor(usable_cores()) as callers:
        for _ in range(usable_cores()):
            callers.submit(pool.run, lambda: together.wait(LONG))
    started = set(threading.enumerate()) - before
    assert len(started) == usable_cores()
    pool.close()
    assert not started & set(threading.enumerate())


def test_a_closed_pool_rejects_new_and_waiting_callers(busy):
    pool, release = busy(queue=3, timeout=LONG)
    with ThreadPoolExecutor(3) as callers:
        waiting = [callers.submit(pool.run, lambda: "never") for _ in range(3)]
        while pool.waiting < 3:
            time.sleep(0.001)
        closing = threading.Thread(target=pool.close)
        closing.start()
        assert all(isinstance(call.exception(LONG), HashCapacityExceeded) for call in waiting)
        release.set()
        closing.join(LONG)
    with pytest.raises(HashCapacityExceeded):
        pool.run(lambda: None)


def test_a_forked_process_has_a_pool_of_its_own(busy):
    pool, _ = busy(queue=0, timeout=LONG)  # full in this process
    assert in_forked_process(lambda: pool.run(lambda: 7) == 7)
    with pytest.raises(HashCapacityExceeded):
        pool.run(lambda: None)


ENDS_WHILE_HASHING = """
import sys, threading, time
from authsite.platform.passwords import HashPool, HashCapacityExceeded, Passwords

passwords = Passwords(4, [], HashPool())

class TakesLongToGo:
    def __del__(self):
        for _ in range(1_000_000):
            pass

def log_in_for_ever():
    while True:
        try:
            passwords.check("x", None)
        except HashCapacityExceeded:
            time.sleep(0.01)

sys.kept = TakesLongToGo()
for _ in range(4):
    threading.Thread(target=log_in_for_ever, daemon=True).start()
passwords.check("x", None)
"""


def test_a_process_that_ends_while_it_hashes_ends_in_peace():
    for _ in range(3):
        end = subprocess.run([sys.executable, "-c", ENDS_WHILE_HASHING], capture_output=True)
        assert (end.returncode, end.stderr) == (0, b"")


ENDS_WITH_A_QUEUE = """
import threading, time
from authsite.platform.passwords import HashCapacityExceeded, HashPool

pool, begun = HashPool(threads=1, queue=9, timeout=30), threading.Event()

def work():
    begun.set()
    time.sleep(0.3)
    print("done", flush=True)

def call():
    try:
        pool.run(work)
    except HashCapacityExceeded:
        pass

for _ in range(6):
    threading.Thread(target=call, daemon=True).start()
begun.wait()
while pool.waiting < 5:
    time.sleep(0.001)
"""


def test_a_process_that_ends_finishes_the_work_that_runs_and_drops_the_queue():
    end = subprocess.run([sys.executable, "-c", ENDS_WITH_A_QUEUE], capture_output=True)
    assert (end.returncode, end.stdout, end.stderr) == (0, b"done\n", b"")
