"""R17: the schema is migrated while requests arrive, and the version before goes on."""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from tests.support import newer

from . import invariants
from .rig import prepared, rig, serve, summary
from .rows import Row, limit, none
from .traffic import good, p


def migrated(short):
    """R17: two processes migrate at once while another transaction reads the tables for 3 s."""
    with newer_version() as code, rig() as made:
        with made.traffic() as traffic:
            time.sleep(3 if short else 10)
            began = time.monotonic()
            with made.postgres.connect() as reader:
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM users, families")
                running = [upgrade(code, made) for _ in range(2)]
                time.sleep(3)
                reader.execute("COMMIT")
            outputs = [process.communicate(timeout=120)[0] for process in running]
            seconds = time.monotonic() - began
            time.sleep(5 if short else 60)
        statuses = [process.returncode for process in running]
        steps = sum(text.count(f"{newer.REVISION} (") for text in outputs)
        waits = sum(text.count(" follows") for text in outputs)
        before = invariants.check("R17", made, traffic)
    done = "schema migrated by two processes at once; then the version before on the new schema"
    failed = [a for a in traffic.answers if not good(a)]
    return [
        none("R17", done, f"failures of {len(traffic.answers)} ({summary(failed)})", len(failed)),
        limit("R17", done, "all requests, p99", 1000, p(traffic.answers, 0.99)),
        Row("R17", done, "both commands succeed, and one migrates",
            f"status {statuses}, {steps} migration, {waits} waits, {seconds:.1f} s",
            statuses == [0, 0] and steps == 1),
        before,
        *new_code(short),
    ]  # fmt: skip


def new_code(short):
    """The new version on the new schema."""
    done = "the new version on the new schema"
    with newer_version() as code, prepared() as made:
        upgrade(code, made).communicate(timeout=120)
        with serve(made, PYTHONPATH=str(code), PYTHONSAFEPATH="1"), made.traffic() as traffic:
            time.sleep(3 if short else 15)
    return [none("R17", done, "failures", [a.status for a in traffic.answers if not good(a)])]


@contextmanager
def newer_version():
    """A folder with this code and one migration more."""
    with tempfile.TemporaryDirectory(prefix="authsite-newer-") as name:
        yield newer.version(Path(name))


def upgrade(code, made):
    """``authsite db upgrade`` of the version in the folder ``code``, as a process."""
    own = {"PYTHONPATH": str(code), "PYTHONSAFEPATH": "1", "AUTHSITE_ENV_FILE": os.devnull}
    command = [sys.executable, "-m", "authsite", "db", "upgrade", "--config", str(made.ini)]
    return subprocess.Popen(
        command, env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
