"""A server that is told to stop ends at once, also while it starts."""

import os
import signal
import subprocess
import sys
import threading
import time
from subprocess import DEVNULL, PIPE

import pytest

from tests.support import databases
from tests.support.extent import volume
from tests.support.servers import (
    START_SECONDS,
    free_port,
    started,
    write_ini,
)

# Seconds after which Granian kills a worker that does not end. Its line "refused to gracefully
# stop" proves nothing: on a busy machine it is logged at once for a worker that has just ended, if
# the thread that waits for it has not run since (`join` of multiprocessing in two threads).
KILLED_AFTER = 10


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_stop_while_it_starts_ends_at_once(fresh_url, tmp_path, number):
    ini = write_ini(tmp_path, databases.migrated(fresh_url))
    command = [sys.executable, "-m", "authsite", "serve", "--config", str(ini), "--workers", "2",
               "--port", str(free_port())]  # fmt: skip
    with subprocess.Popen(
        command, text=True, stdout=DEVNULL, stderr=PIPE, start_new_session=True
    ) as process:
        late = threading.Timer(START_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        while "Spawning worker-2" not in process.stderr.readline():
            assert process.poll() is None
        # A terminal sends Ctrl-C to all processes, a supervisor SIGTERM to the first one.
        send = os.killpg if number == signal.SIGINT else os.kill
        began = time.monotonic()
        send(process.pid, number)
        log = process.stderr.read()
        seconds = time.monotonic() - began
        late.cancel()
    assert process.returncode == 0
    assert seconds < KILLED_AFTER
    assert "Unexpected exit" not in log


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("line", ["Spawning worker-1", "Started worker-1"])
def test_a_worker_that_is_told_to_stop_before_its_loop_runs_ends_at_once(fresh_url, tmp_path, line):
    """Granian has set its handlers by then, and uvloop forgets a signal before it runs."""
    ini = write_ini(tmp_path, databases.migrated(fresh_url))
    for _ in range(volume(2, 5)):
        [service], _ = started(ini, "127.0.0.1")
        while line not in service.stderr.readline():
            assert service.poll() is None
        began = time.monotonic()
        service.terminate()
        service.stderr.read()
        service.stderr.close()
        assert service.wait(START_SECONDS) == 0
        assert time.monotonic() - began < KILLED_AFTER
