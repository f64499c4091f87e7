"""Starts, measures and stops the processes of a benchmark; measures bcrypt alone."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import bcrypt

HASH = bcrypt.hashpw(b"purple wolf 77 tea", bcrypt.gensalt(12))


def free_port():
    """A port on which no process listens at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def process(*arguments, port, **variables):
    """A Python process that listens on ``port``; yields (its id, seconds until it listened)."""
    began = time.monotonic()
    log = open(os.devnull, "w")  # noqa: SIM115  it lives as long as the process
    running = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, **variables},
        stdout=log,
        stderr=log,
    )
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
                break
            except OSError:
                if running.poll() is not None or time.monotonic() - began > 30:
                    raise SystemExit(f"did not start: {' '.join(map(str, arguments))}") from None
                time.sleep(0.02)
        yield running.pid, began
    finally:
        running.send_signal(signal.SIGTERM)
        try:
            running.wait(15)
        except subprocess.TimeoutExpired:
            running.kill()


@contextmanager
def listening(*arguments, port, **variables):
    """`process`, for those who only want its port."""
    with process(*arguments, port=port, **variables):
        yield port


def largest_worker(pid):
    """Resident memory of the largest process of a server, in MB."""
    ids = [pid, *_children(pid)]
    return max(_resident(each) for each in ids)


def resident(pids):
    """Resident memory of servers, all their processes together, in MB."""
    return sum(_resident(each) for pid in pids for each in [pid, *_children(pid)])


def open_files(pid):
    """Files and connections that a server has open, in all its processes."""
    return sum(len(os.listdir(f"/proc/{each}/fd")) for each in [pid, *_children(pid)])


def parent(pid):
    """The process that started ``pid``."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def busy(pids):
    """Processor time of servers and all their processes so far, in seconds."""
    ticks = 0
    for pid in pids:
        for each in [pid, *_children(pid)]:
            with suppress(FileNotFoundError):  # it has ended
                fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])  # utime and stime, proc(5)
    return ticks / os.sysconf("SC_CLK_TCK")


def running(pids):
    """Processor time of these processes alone so far, in seconds, to the nanosecond."""
    total = 0
    for pid in pids:
        with suppress(OSError):  # it has ended
            total += int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
    return total / 1e9


def bcrypt_limit(seconds=6.0):
    """Hashes per second at cost 12 that all cores do when nothing else runs."""
    counts = []

    def work():
        done, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            bcrypt.checkpw(b"purple wolf 77 tea", HASH)
            done += 1
        counts.append(done)

    threads = [threading.Thread(target=work) for _ in os.sched_getaffinity(0)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - began)


def describe():
    """The machine in one line."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown processor",
    )
    return f"{len(os.sched_getaffinity(0))} cores, {model}, Python {sys.version.split()[0]}"


def _children(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [each for child in listed for each in (int(child), *_children(int(child)))]


def _resident(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0
