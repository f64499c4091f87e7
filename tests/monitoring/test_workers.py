"""A scrape sees the numbers of all processes, also of those that have ended."""

import fcntl
import os
import secrets
import signal
import threading
from itertools import permutations
from pathlib import Path

import pytest

from authsite.monitoring import workers
from authsite.platform.runtime.counters import (
    BOUNDS,
    GUARDED,
    REQUESTS,
    TASK_SUCCESS,
    add_up,
    counted,
)
from tests.support.forks import in_forked_process


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(workers.FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def accepted(site):
    """What all processes together have counted for a guard of this test."""
    found = dict(
        workers.all_numbers(site.app.registry["authsite"])["counted"]["authsite_guard_decisions"]
    )
    return found.get(("of this test", "accepted"), [0])[0]


def processes(site):
    return workers.all_numbers(site.app.registry["authsite"])["gauges"]["processes"]


def count_and_end(site):
    """In another process: count one, write, and end."""

    def work():
        stop = threading.Event()
        stop.set()
        GUARDED.add("of this test", "accepted")
        workers.run(site.app.registry["authsite"], stop)
        return True

    assert in_forked_process(work)


def test_a_process_counts_for_all(site, folder):
    before = accepted(site)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        GUARDED.add("of this test", "accepted")
        workers.run(site.app.registry["authsite"], threading.Event())
        os._exit(0)
    while not list(Path(folder).glob("*.json")):
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
        threading.Event().wait(0.005)
    assert (accepted(site), processes(site)) == (before + 1, 2)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert (accepted(site), processes(site)) == (before + 1, 1)


def test_a_number_that_was_shown_never_shrinks_also_if_its_process_is_killed(site, folder):
    """Prometheus would take a smaller number for a new start, and count all of it once more."""
    shown, answer = os.pipe()

    def show_and_be_killed():
        task = threading.Thread(
            target=workers.run, args=(site.app.registry["authsite"], threading.Event())
        )
        task.start()
        while not list(Path(folder).glob("*.json")):
            threading.Event().wait(0.005)
        GUARDED.add("of this test", "accepted")
        os.write(answer, str(accepted(site)).encode())
        os.kill(os.getpid(), signal.SIGKILL)

    assert not in_forked_process(show_and_be_killed)
    os.close(answer)
    assert accepted(site) == float(os.read(shown, 100))


def test_the_files_of_processes_that_have_ended_become_one(site, folder):
    before = accepted(site)
    for _ in range(3):
        count_and_end(site)
    assert len(list(folder.glob("*.json"))) == 3
    assert accepted(site) == before + 3
    assert accepted(site) == before + 3
    assert sorted(path.name for path in folder.iterdir()) == ["ended.json", "lock"]
    count_and_end(site)
    assert accepted(site) == before + 4
    assert processes(site) == 1


def test_without_space_the_numbers_are_those_of_the_process_and_of_what_is_there(site, folder):
    before = accepted(site)
    count_and_end(site)
    unfinished = folder / "ended.new"
    unfinished.mkdir()  # nothing can be written there, as on a full disk
    assert accepted(site) == before + 1
    assert accepted(site) == before + 1
    unfinished.rmdir()
    assert accepted(site) == before + 1


def test_a_folder_that_is_gone_leaves_the_numbers_of_this_process(site, folder, monkeypatch):
    before = accepted(site)
    monkeypatch.setenv(workers.FOLDER_VARIABLE, str(folder / "gone"))
    assert accepted(site) == before
    stop = threading.Event()
    stop.set()
    workers.run(site.app.registry["authsite"], stop)


def test_the_folder_of_a_server_is_private_and_removed_at_the_end(monkeypatch):
    monkeypatch.setenv(workers.FOLDER_VARIABLE, "")
    with workers.metrics_folder():
        folder = Path(os.environ[workers.FOLDER_VARIABLE])
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


def test_numbers_are_added_and_the_latest_time_counts():
    buckets = [0.0] * (len(BOUNDS) + 1)
    one = {
        "authsite_request_seconds": [(("r", "GET", "200"), [0.5, *buckets[1:], 1.0])],
        TASK_SUCCESS.name: [(("mail",), [10.0, 3.0])],
    }
    other = {
        "authsite_request_seconds": [(("r", "GET", "200"), [0.25, *buckets[1:], 2.0])],
        TASK_SUCCESS.name: [(("mail",), [8.0, 2.0])],
        GUARDED.name: [(("api", "accepted"), [3])],
    }
    together = add_up([one, other])
    assert together["authsite_request_seconds"] == [
        (("r", "GET", "200"), [0.75, *buckets[1:], 3.0])
    ]
    assert together[TASK_SUCCESS.name] == [(("mail",), [10.0, 2.0])]
    assert together[GUARDED.name] == [(("api", "accepted"), [3])]


def test_a_sum_of_seconds_does_not_depend_on_the_order_of_the_processes():
    route = secrets.token_hex(8)
    for number, seconds in enumerate((0.1, 0.2, 0.3, 0.7)):
        REQUESTS.observe(seconds, route, "GET", 200 + number)
    values = [numbers for labels, numbers in counted()[REQUESTS.name] if route in labels]
    parts = [{REQUESTS.name: [(("r", "GET", "200"), numbers)]} for numbers in values]
    sums = {add_up(each)[REQUESTS.name][0][1][0] for each in permutations(parts)}
    assert len(sums) == 1
    assert sums.pop() == pytest.approx(1.3, abs=5e-6)


def test_a_process_that_stands_still_while_it_writes_keeps_no_request_waiting(
    site, folder, monkeypatch
):
    """Else a few scrapes would take all threads of guarded requests."""
    monkeypatch.setattr(workers, "LOCK_TIMEOUT", 0.05)
    local = {"REMOTE_ADDR": "127.0.0.1"}
    with open(folder / "lock", "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        answer = site.http.get("/metrics", extra_environ=local, status=503)
        assert answer.headers["Retry-After"]
    site.http.get("/metrics", extra_environ=local, status=200)
