"""R11 and R12: SQLite with a full disk, and with many processes that write."""

import shutil
import sqlite3
import subprocess
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

from . import invariants
from .database import recovery
from .rig import prepared, serve, summary
from .rows import Row, limit, none
from .traffic import good, invalid, other_than_503, p

RATES = {"guard": 26, "refresh": 15, "login": 1, "forgot": 4}  # a second: 20 of them write
WRITES = ("refresh", "login", "forgot")
OTHER = "failures other than 503 with `Retry-After`"
UNHASHED = ("refresh", "forgot")  # a login takes the time of its hash


class File:
    """A SQLite database in a separate folder."""

    def __init__(self, folder):
        self.path = Path(folder) / "authsite.sqlite"
        self.url = f"sqlite:///{self.path}"

    def create(self):
        """Nothing: the first connection makes the file."""

    def connect(self):
        """A connection in AUTOCOMMIT, as that of another program."""
        return sqlite3.connect(self.path, isolation_level=None, timeout=0)

    def journal(self):
        """The size of the journal in MB."""
        return self.path.with_name(f"{self.path.name}-wal").stat().st_size / 1e6

    def check(self):
        """What `integrity_check` says."""
        with closing(self.connect()) as connection:
            return connection.execute("PRAGMA integrity_check").fetchone()[0]


@contextmanager
def on_disk():
    """A `File` in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="authsite-sqlite-") as folder:
        yield File(folder)


def contended(short):
    """R12: four processes write, and another program holds the write lock for a while."""
    with prepared(on_disk) as made, serve(made, workers=4):
        with made.traffic(rates=RATES) as traffic:
            time.sleep(5 if short else 60)
            times = [traffic.now()]
            hold(made.postgres, 3)
            times.append(traffic.now())
            time.sleep(3 if short else 10)
            times.append(traffic.now())
            hold(made.postgres, 8)
            times.append(traffic.now())
            time.sleep(6)
            journal = made.postgres.journal()
        begin, waited, late, end = times
        done = "four processes, 20 writes a second"
        alone = traffic.during(1, begin)
        median = p([a for a in alone if a.kind in UNHASHED], 0.5)
        return [
            none("R12", done, "failures", _failed(alone)),
            limit("R12", done, f"p99 of writes without a hash (p50 {median:.0f} ms)", 50,
                  _p99(alone, UNHASHED)),
            limit("R12", done, "p99 of guarded requests", 50, _p99(alone, ["guard"])),
            limit("R12", done, "the journal at the end", 20, journal, "MB"),
            *_locked(f"{done}; another program holds the lock for 3 s",
                     traffic.during(begin, waited)),
            *_beyond(f"{done}; another program holds the lock for 8 s", traffic.during(late, end)),
            none("R12", done, "failures at other times", _failed(
                a for a in traffic.answers if a.end < late or a.at > end)),
            invariants.check("R12", made, traffic),
        ]  # fmt: skip


def _locked(done, answers):
    longest = 1000 * max(a.seconds for a in answers)
    return [
        none("R12", done, "failures", _failed(answers)),
        limit("R12", done, f"answers during this ({summary(answers)}), longest", 5000, longest),
        limit("R12", done, "p99 of guarded requests", 500, _p99(answers, ["guard"])),
    ]


def _beyond(done, answers):
    guards = [a for a in answers if a.kind == "guard"]
    return [
        none("R12", done, OTHER, len(other_than_503(answers))),
        Row("R12", done, "some writes 503", summary(a for a in answers if a.kind in WRITES),
            503 in _failed(answers)),
        none("R12", done, "guarded requests that fail", _failed(guards)),
        limit("R12", done, "p99 of guarded requests", 500, _p99(answers, ["guard"])),
    ]  # fmt: skip


def hold(file, seconds):
    """Hold the write lock, as a tool that was left running does."""
    connection = file.connect()
    connection.execute("PRAGMA busy_timeout=5000")
    connection.execute("BEGIN IMMEDIATE")
    time.sleep(seconds)
    connection.close()


def full(short):
    """R11: the disk of the data is full, and so is that of the log."""
    with tmpfs() as log, prepared(in_memory) as made:
        made.ini = Path(shutil.copy(made.ini, log))
        with serve(made):
            workers = made.workers()
            with made.traffic(rates=RATES) as traffic:
                time.sleep(3 if short else 10)
                begin = traffic.now()
                with filled(log), filled(made.postgres.path.parent):
                    time.sleep(6 if short else 20)
                    end = traffic.now()
                time.sleep(6 if short else 15)
            done = "data and log on disks that are full"
            during = traffic.during(begin + 0.5, end)
            guards = [a for a in during if a.kind == "guard"]
            writes = [a for a in during if a.kind in WRITES]
            all_writes = [a for a in traffic.answers if a.kind in WRITES]
            restarted = len(set(made.workers()) - set(workers))
            state = made.postgres.check()
            return [
                none("R11", done, "guarded requests that fail", _failed(guards)),
                Row("R11", done, "writes 503", summary(writes), 503 in _failed(writes)),
                none("R11", done, OTHER, len(other_than_503(traffic.answers))),
                none("R11", done, "valid tokens called invalid", len(invalid(traffic.answers))),
                recovery("R11", f"{done}; writes", SimpleNamespace(answers=all_writes), end, 5, 5),
                none("R11", done, "workers that restarted", restarted),
                Row("R11", done, "`integrity_check` ok", state, state == "ok"),
                invariants.check("R11", made, traffic),
            ]


@contextmanager
def in_memory():
    """A `File` on a separate file system, of 16 MB."""
    with tmpfs() as folder:
        yield File(folder)


@contextmanager
def tmpfs():
    """A folder with 16 MB of space; needs root."""
    with tempfile.TemporaryDirectory(prefix="authsite-full-") as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def filled(folder):
    """Fill the file system of ``folder``, and free what was taken at the end."""
    path = folder / "filling"
    with open(path, "wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    try:
        yield
    finally:
        path.unlink()


def _failed(answers):
    return [answer.status for answer in answers if not good(answer)]


def _p99(answers, kinds):
    return p([a for a in answers if a.kind in kinds], 0.99)
