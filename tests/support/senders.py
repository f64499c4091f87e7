"""Sender processes that are killed at random, and what their server and outbox say afterwards."""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from authsite import clock
from authsite.db import open_database
from authsite.http.source import Source
from authsite.login.identifiers import of_kind
from authsite.mail import outbox
from authsite.mail.models import Outgoing
from authsite.users import service as users
from tests.support import databases
from tests.support.servers import write_ini


@dataclass
class Outbox:
    """An outbox of its own, and the ini file that its senders read."""

    database: object
    ini: object

    def fill(self, count):
        """Put ``count`` letters to as many addresses in; the addresses."""
        addresses = [f"ann+{number}@example.com" for number in range(count)]
        now = clock.now()
        with Session(self.database.writer) as db, db.begin():
            name = of_kind("email", f"{uuid.uuid4().hex}@example.com")
            user = users.create(db, now, Source(), [name], None)
            for address in addresses:
                outbox.put(
                    db, now, letter="welcome", user_id=user.id, address=address, language="en",
                    base_url="http://localhost",
                )  # fmt: skip
        return addresses

    def states(self):
        """How many letters are in which state."""
        with self.database.reader.connect() as connection:
            rows = connection.execute(
                select(Outgoing.state, func.count()).group_by(Outgoing.state)
            ).all()
        return Counter(dict(map(tuple, rows)))

    def wait(self, seconds, until=lambda states: not states["waiting"]):
        """Until no letter waits any more; the seconds it took, or an assertion."""
        start = time.monotonic()
        while not until(self.states()):
            assert time.monotonic() - start < seconds, f"{self.states()} after {seconds} s"
            time.sleep(0.1)
        return time.monotonic() - start

    def pass_a_minute(self):
        """What was leased by the killed is free: as after a minute, without waiting for it."""
        with self.database.writer.begin() as connection:
            connection.execute(
                update(Outgoing)
                .where(Outgoing.lease_until.is_not(None))
                .values(lease_until=clock.now() - timedelta(seconds=1))
            )


def new_outbox(folder, url, port):
    """An `Outbox` on a fresh database at ``url``, for a mail server at ``port``."""
    databases.migrated(url)
    ini = write_ini(folder, url, mail_driver="smtp", smtp_url=f"smtp://127.0.0.1:{port}")
    return Outbox(open_database(url), ini)


def start_sender(ini):
    """``authsite mail send --loop`` as a process."""
    return subprocess.Popen(
        [sys.executable, "-m", "authsite", "mail", "send", "--loop", "--config", str(ini)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "AUTHSITE_ENV_FILE": os.devnull},
    )


@contextmanager
def senders(ini, count=2):
    """``count`` senders; they are told to stop at the end. Yields the list, which may change."""
    processes = [start_sender(ini) for _ in range(count)]
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(15)


def kill_at_random(processes, ini, chance, until, pause):
    """Kill a sender with SIGKILL now and then and start another, ``until()``; how many died.

    ``chance``: a seeded random.Random; ``pause``: seconds between two kills, at most.
    """
    kills = 0
    while not until():
        time.sleep(chance.uniform(pause / 4, pause))
        victim = chance.randrange(len(processes))
        processes[victim].send_signal(signal.SIGKILL)
        processes[victim].wait(5)
        processes[victim] = start_sender(ini)
        kills += 1
    return kills


def copies(server):
    """For each address that got mail: how many copies, and how many Message-IDs."""
    found = {}
    for address, raw in server.taken:
        [line] = [line for line in raw.splitlines() if line.startswith(b"Message-ID:")]
        found.setdefault(address, []).append(line)
    return {address: (len(lines), len(set(lines))) for address, lines in found.items()}


def seeded(seed):
    """Chance that is the same in each run."""
    return random.Random(seed)  # noqa: S311  no secrets here
