"""An import that is killed in the middle and started again ends the same as one that was not."""

import json
import os
import signal
import time

from click.testing import CliRunner
from sqlalchemy import func, select

from authsite.cli import authsite
from authsite.platform.audit.models import AuditEvent
from authsite.platform.db import open_database
from authsite.users.models import LoginName, User
from tests.importing.csv_rows import good, write_csv
from tests.support import databases
from tests.support.extent import volume
from tests.support.in_process import write_ini

ROWS = volume(2000, 5000)


def imported(database):
    """What an import has written, but for the times of audit events."""
    with database.autocommit.connect() as connection:
        users = connection.execute(select(User.__table__).order_by(User.id)).all()
        names = connection.execute(select(LoginName.__table__).order_by(LoginName.key)).all()
        events = connection.execute(
            select(AuditEvent.event, AuditEvent.user_id, AuditEvent.details)
        ).all()
    return users, names, sorted(map(repr, events))


def test_killed_and_started_again_is_the_same_as_one_run(backend, tmp_path):
    rows = [good(f"user{number}") for number in range(ROWS)]
    rows[ROWS // 2]["email"] = "user1@example.com"
    source = write_csv(tmp_path / "users.csv", rows)
    results = []
    for name in ("once", "killed"):
        url = databases.migrated(databases.new_url(backend, tmp_path, f"import_{name}"))
        ini = write_ini(tmp_path / f"{name}.ini", url)
        arguments = ["import", "csv", str(source), "--config", ini]
        database = open_database(url)
        try:
            if name == "killed":
                interrupt(arguments, database)
            done = CliRunner().invoke(authsite, [*arguments, "--json"])
            counts = json.loads(done.stdout.splitlines()[-1])["users"]
            assert (counts["present"] > 0) is (name == "killed")
            assert counts["imported"] + counts["present"] == ROWS - 1
            assert counts["refused"] == 1
            results.append(imported(database))
        finally:
            database.dispose()
    assert results[0] == results[1]


def interrupt(arguments, database):
    """Kill ``authsite ARGUMENTS`` when it has written some users and not all."""
    child = os.fork()
    if child == 0:
        CliRunner().invoke(authsite, arguments)
        os._exit(0)
    count, deadline = 0, time.monotonic() + 60
    while not count and time.monotonic() < deadline:
        time.sleep(0.005)
        with database.autocommit.connect() as connection:
            count = connection.scalar(select(func.count()).select_from(User))
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert 0 < count < ROWS - 1
