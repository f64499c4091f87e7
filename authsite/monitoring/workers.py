"""The numbers of several processes: each writes its own into a folder that all of them share.

``authsite serve`` makes the folder. Under another server the variable `FOLDER_VARIABLE` may name
one. A process writes every second, so one that is killed loses the counts of its last second.
"""

import fcntl
import json
import math
import os
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import IO, TypedDict

import structlog

from authsite.platform.context import Job, Services
from authsite.platform.http.errors import TemporarilyUnavailable
from authsite.platform.runtime.counters import Values, add_up, counted

from .gauges import GAUGES, gauges

log = structlog.get_logger("authsite.monitoring")

FOLDER_VARIABLE = "AUTHSITE_METRICS_FOLDER"
INTERVAL = 1.0  # seconds
STOP_TIMEOUT = 1.0  # seconds
LOCK_TIMEOUT = 1.0  # seconds; the others hold the lock for a few milliseconds
_ENDED = "ended"  # the name of the sum of the processes that have ended
_RUNS = ".runs"  # a file that its process keeps locked: when it ends, the system unlocks it
_NUMBERS = ".json"
_LOCK = "lock"


class Numbers(TypedDict):
    """All numbers of one process, or of several together."""

    counted: Values
    gauges: dict[str, float]


@contextmanager
def metrics_folder() -> Iterator[str]:
    """A folder for the workers that are started in the block; it is removed at the end."""
    folder = tempfile.mkdtemp(prefix="authsite-metrics-")  # only its owner can read it
    os.environ[FOLDER_VARIABLE] = folder
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_job(services: Services) -> Job:
    """The task that writes the numbers of this process."""
    stop = threading.Event()
    return Job(partial(run, services, stop), stop.set, STOP_TIMEOUT)


def run(services: Services, stop: threading.Event) -> None:
    """Write every second, and once more at the end. Without space the numbers stay as they were."""
    folder = Path(os.environ[FOLDER_VARIABLE])
    with suppress(OSError), ExitStack() as stack:
        with _locked(folder / _LOCK):  # no other process may find the file before it is locked
            stack.enter_context(_locked(folder / f"{_own_name(os.getpid())}{_RUNS}"))
        while True:
            with suppress(OSError), _locked(folder / _LOCK):
                _write(folder, _own_name(os.getpid()), own_numbers(services))
            if stop.is_set():
                return
            stop.wait(INTERVAL)


def own_numbers(services: Services) -> Numbers:
    """The numbers of this process."""
    return {"counted": counted(), "gauges": gauges(services)}


def all_numbers(services: Services) -> Numbers:
    """The numbers of all processes that share the folder; without a folder of this process.

    Those of this process are written first: if it is killed, the next response has no smaller
    number, which Prometheus would take for a new start and count once more as a whole. Raises
    `TemporarilyUnavailable` if a process that holds the lock does not go on: a scrape must not keep
    the thread of a request.
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    try:
        if folder:
            with _locked(Path(folder) / _LOCK, LOCK_TIMEOUT):
                own = own_numbers(services)
                if (Path(folder) / f"{_own_name(os.getpid())}{_RUNS}").exists():
                    with suppress(OSError):
                        _write(Path(folder), _own_name(os.getpid()), own)
                return _together([own, *_others(Path(folder))])
    except TimeoutError:
        log.warning("metrics_locked", folder=folder)
        raise TemporarilyUnavailable from None
    except OSError:
        pass  # the folder is gone
    return own_numbers(services)


def _others(folder: Path) -> list[Numbers]:
    """The numbers of the other processes. The files of those that have ended become one."""
    names = {path.stem for path in folder.glob(f"*{_RUNS}")} - {_own_name(os.getpid())}
    over = [name for name in names if not _is_locked(folder / f"{name}{_RUNS}")]
    running = [_read(folder, name) for name in names.difference(over)]
    ended = _together([_only_counts(_read(folder, name)) for name in (_ENDED, *over)])
    if over:
        with suppress(OSError):  # without space they are added up again the next time
            _write(folder, _ENDED, ended)
            for name in over:
                (folder / f"{name}{_NUMBERS}").unlink(missing_ok=True)
                (folder / f"{name}{_RUNS}").unlink()
    return [*running, ended]


def _only_counts(numbers: Numbers) -> Numbers:
    """What remains of a process that has ended."""
    remaining = {key: n for key, n in numbers["gauges"].items() if GAUGES[key].counts_up}
    return {"counted": numbers["counted"], "gauges": remaining}


def _together(parts: list[Numbers]) -> Numbers:
    sums: dict[str, float] = {}
    for part in parts:
        for key, number in part["gauges"].items():
            sums[key] = sums.get(key, 0) + number
    return {"counted": add_up([part["counted"] for part in parts]), "gauges": sums}


def _read(folder: Path, name: str) -> Numbers:
    """The numbers that a process wrote; none if it has not written yet."""
    try:
        numbers: Numbers = json.loads((folder / f"{name}{_NUMBERS}").read_bytes())
    except FileNotFoundError:
        return {"counted": {}, "gauges": {}}
    return numbers


def _write(folder: Path, name: str, numbers: Numbers) -> None:
    """Replace the file in one step: a reader gets the old or the new numbers."""
    unfinished = folder / f"{name}.new"
    unfinished.write_text(json.dumps(numbers))
    unfinished.replace(folder / f"{name}{_NUMBERS}")


@contextmanager
def _locked(path: Path, timeout: float = math.inf) -> Iterator[None]:
    """Hold the lock of a file; `TimeoutError` if another process holds it for ``timeout`` s."""
    deadline = time.monotonic() + timeout
    with open(path, "a") as file:
        while not _lock(file, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                raise TimeoutError
            time.sleep(0.005)
        yield


def _is_locked(path: Path) -> bool:
    with open(path, "a") as file:
        return not _lock(file, fcntl.LOCK_SH)


def _lock(file: IO[str], kind: int) -> bool:
    """Lock an open file unless another one has locked it; whether that was done."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@cache
def _own_name(_process: int) -> str:
    """The name of this process in the folder; a later one with the same number has another."""
    return secrets.token_hex(8)
