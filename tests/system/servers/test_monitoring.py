"""Probes and metrics of `authsite serve` with several workers."""

import os
import signal
import time
from pathlib import Path

import httpx

from tests.support import databases
from tests.support.servers import serving, write_ini


def counted(http):
    """How many requests of this test all workers have counted, as one of them says."""
    lines = httpx.get(http.base_url.join("/metrics")).text.splitlines()
    labels = '{method="PATCH",route="authsite.user",status="401"}'
    wanted = f"authsite_request_seconds_count{labels} "
    return next((float(line.removeprefix(wanted)) for line in lines if wanted in line), 0)


def wait_for(read, wanted):
    """Until ``read()`` is ``wanted`` once: another worker may still see less for a second."""
    deadline = time.monotonic() + 20
    while (found := read()) != wanted:
        assert time.monotonic() < deadline, f"{found} instead of {wanted}"
        time.sleep(0.05)


def workers_of(process):
    """The ids of the workers: those children that are not helpers of multiprocessing."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    with_threads = [int(child) for child in children if len(os.listdir(f"/proc/{child}/task")) > 5]
    return with_threads


def test_a_scrape_sees_the_requests_of_all_workers_and_of_one_that_was_killed(fresh_url, tmp_path):
    ini = write_ini(tmp_path, databases.migrated(fresh_url))
    with serving(ini, workers=2) as http:
        assert http.get("/healthz").json() == {"status": "ok"}
        assert http.head("/healthz").status_code == 200
        assert http.post("/healthz").status_code == 405
        assert http.get("/readyz").json() == {"status": "ready", "problems": []}
        for _ in range(20):
            # Each on a separate connection.
            assert httpx.patch(http.base_url.join("/v1/user")).status_code == 401
        wait_for(lambda: counted(http), 20)
        # Each worker writes its numbers every second. Granian ends if a worker dies within 5.5 s of
        # its start, which it takes for one that cannot start.
        time.sleep(6)
        os.kill(workers_of(http.process)[0], signal.SIGKILL)
        wait_for(lambda: http.log.read_text().count("Started worker-"), 3)
        # A kill -9 cost nothing that was written, and nothing is counted twice.
        assert [counted(http) for _ in range(5)] == [20] * 5
