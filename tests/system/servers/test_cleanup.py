"""One purge at a time, over processes; and a scheduled cleanup whose process stops."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta

import pytest
from sqlalchemy import delete, func, insert, select

from authsite.platform.audit.models import AuditEvent
from authsite.platform.db import open_database
from authsite.platform.db.batches import ROWS
from authsite.platform.runtime import clock
from authsite.platform.tasks.background import Lock, held, own_connection
from tests.support import databases
from tests.support.servers import authsite, write_ini

pytestmark = pytest.mark.slow
QUIET = {**os.environ, "AUTHSITE_ENV_FILE": os.devnull}
HOLDER = """
import sys, time
from authsite.platform.db import open_database
from authsite.platform.tasks.background import Lock, held, own_connection
database = open_database(sys.argv[1])
with own_connection(database) as connection, held(connection, Lock.CLEANUP) as ours:
    print(ours, flush=True)
    time.sleep(600)
"""
# A worker's start and end, but for the minutes before the first round; it rests for a long time
# after each batch, so that the signal finds it in the middle.
WORKER = """
import signal, sys
from multiprocessing.util import _exit_function
from authsite.server import worker
from authsite.platform.tasks import cleanup
cleanup.REST, cleanup.LONGEST_REST = 1e9, 600
cleanup.make_job.__defaults__ = (cleanup.Waits(first=(0, 0)),)
signal.signal(signal.SIGTERM, lambda *_: (_exit_function(), sys.exit(0)))
worker.application()
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # as the event loop does when it runs
print("started", flush=True)
signal.pause()
"""
THREADS = """
import threading
from authsite.server import worker
worker.application()
print([each.name for each in threading.enumerate()])
"""
HOST = """
import sys, threading
from pyramid.config import Configurator
from webtest import TestApp
from authsite.platform.settings import read_ini
config = Configurator(settings=read_ini(sys.argv[1]))
config.include("authsite")
TestApp(config.make_wsgi_app()).get("/login")
print([each.name for each in threading.enumerate()])
"""


@pytest.fixture
def ini(fresh_url, tmp_path):
    """An ini file for a database with a schema."""
    return write_ini(tmp_path, databases.migrated(fresh_url))


@pytest.fixture
def database(fresh_url, ini):
    """The same database."""
    made = open_database(fresh_url)
    yield made
    made.dispose()


def old_events(database, count):
    """A number of rows that the audit trail need not keep, and the newest one, which it keeps."""
    at = clock.now() - timedelta(days=400)
    rows = [{"at": at + timedelta(seconds=n), "event": "e", "details": None} for n in range(count)]
    with database.transactional.begin() as connection:
        former = connection.scalar(select(func.max(AuditEvent.id)))
        connection.execute(insert(AuditEvent), [*rows, {**rows[0], "at": clock.now()}])
        connection.execute(delete(AuditEvent).where(AuditEvent.id == former))


def events_left(database):
    with database.autocommit.connect() as connection:
        return connection.scalar(select(func.count()).select_from(AuditEvent)) - 1


def started(script, *arguments, **variables):
    """A process of ours that has printed its first line; the process, the line."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments], env={**QUIET, **variables},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    return process, process.stdout.readline().strip()


def test_purge_says_what_it_deleted(ini, database):
    old_events(database, 3)
    assert authsite("purge", ini=ini).stdout.splitlines()[-2:] == [
        "Deleted 3 rows.", "  Audit trail: 3",
    ]  # fmt: skip
    old_events(database, 2)
    done = authsite("purge", "--json", ini=ini)
    assert json.loads(done.stdout) == {
        "families": 0, "personal_tokens": 0, "sessions": 0, "pending_logins": 0,
        "mails": 0, "former_addresses": 0, "released_usernames": 0,
        "used_ids": 0, "stored_requests": 0, "denied_requests": 0, "unconfirmed": 0,
        "signing_keys": 0, "authorization_codes": 0, "device_codes": 0,
        "remembered_browsers": 0,
        "users": 0, "invitations": 0, "unused_clients": 0,
        "counters": 0, "audit": 2,
    }  # fmt: skip
    assert all("audit_sealed" in line for line in done.stderr.splitlines())
    assert authsite("purge", ini=ini).stdout.splitlines()[-1] == "Deleted 0 rows."


def test_purge_keeps_the_audit_trail_as_long_as_it_is_told(ini, database):
    old_events(database, 3)
    done = authsite("purge", "--json", ini=ini, AUTHSITE_AUDIT_KEEP="forever")
    assert json.loads(done.stdout)["audit"] == 0
    done = authsite("purge", "--json", ini=ini, AUTHSITE_AUDIT_KEEP="401d")
    assert json.loads(done.stdout)["audit"] == 0
    assert authsite("purge", ini=ini, AUTHSITE_AUDIT_KEEP="0").returncode == 1
    assert events_left(database) == 3


@pytest.mark.both_databases
def test_while_one_purges_another_says_so_and_does_nothing(ini, database):
    old_events(database, 3)
    with own_connection(database) as connection, held(connection, Lock.CLEANUP):
        for more in ([], ["--json"]):
            done = authsite("purge", *more, ini=ini)
            assert (done.returncode, done.stdout) == (1, "")
            assert "is at work on this database" in done.stderr
    assert events_left(database) == 3
    assert authsite("purge", ini=ini).returncode == 0


@pytest.mark.both_databases
def test_a_purge_that_was_killed_holds_nothing(ini, database, fresh_url):
    old_events(database, 3)
    holder, ours = started(HOLDER, fresh_url)
    try:
        assert ours == "True"
        assert authsite("purge", ini=ini).returncode == 1
    finally:
        holder.kill()
        holder.communicate()
    with own_connection(database) as connection:
        _until_free(connection)
    assert json.loads(authsite("purge", "--json", ini=ini).stdout)["audit"] == 3


@pytest.mark.both_databases
def test_sigterm_ends_a_round_after_the_batch_under_way(ini, database):
    old_events(database, 2 * ROWS + 1)
    worker, line = started(WORKER, AUTHSITE_CONFIG=str(ini))
    try:
        assert line == "started"
        _until(lambda: events_left(database) == ROWS + 1)
        worker.send_signal(signal.SIGTERM)
        _, log = worker.communicate(timeout=60)  # its rest would take ten minutes
    finally:
        worker.kill()
    assert worker.returncode == 0
    [purged] = [line for line in log.splitlines() if "purged" in line]
    assert f"audit={ROWS}" in purged
    assert "whole=False" in purged
    assert events_left(database) == ROWS + 1
    # The process has sealed the rest when it ended: the last old event has a seal with newer ones.
    assert json.loads(authsite("purge", "--json", ini=ini).stdout)["audit"] == ROWS


@pytest.mark.parametrize(("setting", "runs"), [("", True), ("on", True), ("off", False)])
def test_a_worker_cleans_up_unless_the_setting_says_no(ini, setting, runs):
    variables = {"AUTHSITE_CONFIG": str(ini), "AUTHSITE_JANITOR": setting}
    worker, line = started(THREADS, **variables)
    worker.communicate(timeout=60)
    assert line.count("authsite-cleanup") == line.count("authsite-audit-sealing") == runs


@pytest.mark.parametrize(("setting", "runs"), [("", False), ("on", True)])
def test_a_host_cleans_up_only_if_the_setting_says_so(ini, setting, runs):
    host, line = started(HOST, str(ini), AUTHSITE_JANITOR=setting)
    host.communicate(timeout=60)
    assert line.count("authsite-cleanup") == line.count("authsite-audit-sealing") == runs


def _until_free(connection):
    def free():
        with held(connection, Lock.CLEANUP) as ours:
            return ours

    _until(free)


def _until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
