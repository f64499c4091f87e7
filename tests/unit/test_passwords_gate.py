"""The gate lets few in at once, keeps a short line, and never leaves anybody standing."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import pytest

from authsite.cores import usable_cores
from authsite.users.passwords import HashCapacityExceeded, HashGate
from authsite.users.passwords.gate import NICENESS

LONG = 30.0  # seconds that no test reaches unless the gate is broken


@pytest.fixture
def busy():
    """A gate of one thread which is at work until ``release`` is set."""
    gates, release = [], threading.Event()

    def make(**options):
        gate, begun = HashGate(threads=1, **options), threading.Event()
        gates.append(gate)
        pool.submit(gate.run, lambda: begun.set() or release.wait(LONG))
        assert begun.wait(LONG)
        return gate, release

    with ThreadPoolExecutor(20) as pool:
        yield make
        release.set()
    for gate in gates:
        gate.close()


def test_the_result_of_the_work_is_returned():
    assert HashGate(threads=1).run(lambda: 6 * 7) == 42


def test_the_error_of_the_work_is_raised_and_the_gate_goes_on():
    gate = HashGate(threads=1, queue=0)
    for error in (ZeroDivisionError, TimeoutError, KeyboardInterrupt):

        def fail(error=error):
            raise error

        for _ in range(3):
            with pytest.raises(error):
                gate.run(fail)
    assert gate.run(lambda: "still here") == "still here"


@pytest.mark.control("P09")
def test_beyond_the_line_work_is_refused_at_once(busy):
    gate, release = busy(queue=2, patience=LONG)
    with ThreadPoolExecutor(10) as callers:
        calls = [callers.submit(gate.run, lambda: "done") for _ in range(10)]
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
    gate, lock = HashGate(threads=2, queue=30, patience=LONG), threading.Lock()
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
        done = wait([callers.submit(gate.run, work) for _ in range(20)], LONG, FIRST_EXCEPTION)
    assert not done.not_done
    assert all(call.exception() is None for call in done.done)
    assert most == 2


@pytest.mark.control("P09")
def test_work_that_has_not_begun_in_time_is_given_up_and_never_done(busy):
    gate, release = busy(queue=1, patience=0.05)
    done = []
    for _ in range(5):  # each gives its place in the line back
        with pytest.raises(HashCapacityExceeded) as refusal:
            gate.run(lambda: done.append("too late"))
    assert refusal.value.retry_after > 0
    release.set()
    _run_when_free(gate, lambda: done.append("in time"))
    assert done == ["in time"]


@pytest.mark.control("P09")
def test_into_a_line_that_moves_too_slowly_nobody_is_let(busy):
    gate, release = busy(queue=9, patience=LONG)
    gate._pace.note(LONG / 5)  # as long as each of them takes
    with ThreadPoolExecutor(10) as callers:
        for waiting in range(4):
            callers.submit(gate.run, lambda: None)
            while gate._line.qsize() <= waiting:
                time.sleep(0.001)
        with pytest.raises(HashCapacityExceeded):
            gate.run(lambda: None)
        release.set()
    _run_when_free(gate, lambda: None)


def _run_when_free(gate, work):
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        try:
            return gate.run(work)
        except HashCapacityExceeded:
            continue
    raise AssertionError("the gate stayed shut")


def test_work_that_has_begun_is_waited_for():
    gate, release = HashGate(threads=1, patience=0.05), threading.Event()
    threading.Timer(0.3, release.set).start()
    assert gate.run(lambda: release.wait(LONG)) is True


@pytest.mark.skipif(
    sys.platform != "linux", reason="a nice value belongs to a thread on Linux only"
)
def test_hash_threads_step_back_and_the_others_do_not():
    def niceness():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = niceness()
    assert HashGate(threads=1).run(niceness) == before + NICENESS
    assert niceness() == before


def test_a_gate_has_as_many_threads_as_the_process_has_cores_and_none_before_it_works():
    before = threading.active_count()
    gate = HashGate()
    assert threading.active_count() == before
    gate.run(lambda: None)
    assert threading.active_count() == before + usable_cores()
    gate.close()
    assert threading.active_count() == before


def test_a_closed_gate_refuses_and_whoever_waits_is_told(busy):
    gate, release = busy(queue=3, patience=LONG)
    with ThreadPoolExecutor(3) as callers:
        waiting = [callers.submit(gate.run, lambda: "never") for _ in range(3)]
        while gate._line.qsize() < 3:
            time.sleep(0.001)
        closing = threading.Thread(target=gate.close)
        closing.start()
        assert all(isinstance(call.exception(LONG), HashCapacityExceeded) for call in waiting)
        release.set()
        closing.join(LONG)
    with pytest.raises(HashCapacityExceeded):
        gate.run(lambda: None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_has_a_gate_of_its_own(busy):
    gate, _ = busy(queue=0, patience=LONG)  # full in this process
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if gate.run(lambda: 7) == 7 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with pytest.raises(HashCapacityExceeded):
        gate.run(lambda: None)


ENDS_WHILE_HASHING = """
import sys, threading, time
from authsite.users.passwords import HashGate, HashCapacityExceeded, Passwords

passwords = Passwords(4, [], HashGate())

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
