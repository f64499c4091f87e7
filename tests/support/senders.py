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

from authsite.platform.db import open_database
from authsite.platform.mail import outbox
from authsite.platform.mail.outbox import OutboxMessage, Recipient
from authsite.platform.runtime import clock
from authsite.sign_in.identifiers import parse_identifier
from authsite.users import service as users
from tests.support import databases
from tests.support.acting import acting
from tests.support.servers import write_ini


@dataclass
class Outbox:
    """A separate outbox, and the ini file that its senders read."""

    database: object
    ini: object
    port: int  # of the mail server

    def fill(self, count, first=0):
        """Put ``count`` mails to as many addresses in; the addresses."""
        addresses = [f"ann+{number}@example.com" for number in range(first, first + count)]
        with Session(self.database.transactional) as db, db.begin():
            name = parse_identifier("email", f"{uuid.uuid4().hex}@example.com")
            user = users.create(acting(db), [name], None)
            for address in addresses:
                ctx = acting(db, base_urls=("http://localhost",))
                outbox.put(ctx, outbox.NewMail("welcome", Recipient(user.id, address)))
        return addresses

    def states(self):
        """How many mails are in which state."""
        with self.database.autocommit.connect() as connection:
            rows = connection.execute(
                select(OutboxMessage.state, func.count()).group_by(OutboxMessage.state)
            ).all()
        return Counter(dict(map(tuple, rows)))

    def wait(self, seconds, until=lambda states: not states["waiting"]):
        """Until no mail waits any more; the seconds it took, or an assertion."""
        start = time.monotonic()
        while not until(self.states()):
            assert time.monotonic() - start < seconds, f"{self.states()} after {seconds} s"
            time.sleep(0.1)
        return time.monotonic() - start

    def free_what_the_dead_held(self):
        """End all leases, as a minute would. Only while no sender lives: it could hold one."""
        with self.database.transactional.begin() as connection:
            connection.execute(update(OutboxMessage).values(lease_until=None))

    def make_due(self):
        """What waits for its next attempt is due, as after a while."""
        past = clock.now() - timedelta(seconds=1)
        free = OutboxMessage.lease_until.is_(None), OutboxMessage.state == "waiting"
        with self.database.transactional.begin() as connection:
            connection.execute(update(OutboxMessage).where(*free).values(next_attempt_at=past))


def new_outbox(folder, url, port):
    """An `Outbox` on a fresh database at ``url``, for a mail server at ``port``."""
    databases.migrated(url)
    smtp = {"mail_driver": "smtp", "smtp_url": f"smtp://127.0.0.1:{port}"}
    ini = write_ini(folder, url, base_url="http://localhost", **smtp)
    return Outbox(open_database(url), ini, port)


class Senders:
    """Sender processes on one outbox; ``kills`` counts those that died by SIGKILL."""

    def __init__(self, nursery, count):
        self._nursery = nursery
        self.pids = [self._start() for _ in range(count)]
        self.kills = 0

    def kill(self, victim):
        """Kill the sender at this place, whatever it is doing, and start another."""
        end(self.pids[victim], signal.SIGKILL)
        self.pids[victim] = self._start()
        self.kills += 1

    def kill_all(self):
        """Kill every sender."""
        self.kills += len(self.pids)
        self.stop(signal.SIGKILL)

    def stop(self, how=signal.SIGTERM):
        """End every sender."""
        while self.pids:
            end(self.pids.pop(), how)

    def kill_at_random(self, chance, until, pause):
        """Kill one every ``pause`` seconds or sooner, until ``until()``."""
        while not until():
            time.sleep(chance.uniform(0, pause))
            self.kill(chance.randrange(len(self.pids)))

    def _start(self):
        self._nursery.stdin.write("one more\n")
        self._nursery.stdin.flush()
        return int(self._nursery.stdout.readline())


@contextmanager
def senders(ini, count=2, log=subprocess.DEVNULL):
    """``count`` senders on the outbox of ``ini``; they are told to stop at the end."""
    unmeasured = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    nursery = subprocess.Popen(
        [sys.executable, "-m", "tests.support.nursery", str(ini)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
        env={**unmeasured, "AUTHSITE_ENV_FILE": os.devnull},
    )  # fmt: skip
    started = None
    try:
        started = Senders(nursery, count)
        yield started
    finally:
        if started:
            started.stop()
        nursery.kill()
        nursery.communicate()


def end(pid, how, seconds=15):
    """Send a signal and wait until the process is gone."""
    deadline = time.monotonic() + seconds
    try:
        os.kill(pid, how)
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            time.sleep(0.01)
    except ProcessLookupError:
        return
    raise AssertionError(f"sender {pid} did not end within {seconds} s")


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
