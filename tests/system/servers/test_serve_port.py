"""A port has one service, whatever starts at the same moment."""

import os
import re
import signal
import socket
import time

import pytest

from tests.support import databases
from tests.support.extent import volume
from tests.support.servers import (
    START_SECONDS,
    authsite,
    serving,
    started,
    stop,
    wait_for_port,
    write_ini,
)


def test_a_port_that_another_server_has_is_refused_and_not_shared_with_it(fresh_url, tmp_path):
    ini = write_ini(tmp_path, databases.migrated(fresh_url))
    with serving(ini) as http:
        second = authsite("serve", "--port", str(http.base_url.port), ini=ini)
        assert http.get("/v1/user").status_code == 401
    assert second.returncode == 1
    assert "--port" in second.stderr


ALL_HOSTS = "0.0.0.0"  # noqa: S104  for a moment, on a machine of tests


def ended(services):
    """The services that have ended within a moment after another one has begun to serve."""
    deadline = time.monotonic() + START_SECONDS
    while all(each.poll() is None for each in services) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [each for each in services if each.poll() is not None]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "hosts",
    [("127.0.0.1", "127.0.0.1")] * volume(2, 10)
    + [("127.0.0.1", ALL_HOSTS), (ALL_HOSTS, "127.0.0.1"), ("::", "127.0.0.1"), ("::", ALL_HOSTS)],
)
def test_l6_of_two_services_that_start_at_the_same_moment_one_has_the_port(
    fresh_url, tmp_path, hosts
):
    ini = write_ini(tmp_path, databases.migrated(fresh_url))
    services, port = started(ini, *hosts)
    try:
        [loser] = ended(services)
        [winner] = [each for each in services if each is not loser]
        assert loser.returncode == 1
        lines = [line for line in loser.stderr.read().splitlines() if not line.startswith("note:")]
        assert len(lines) == 1
        assert "cannot be used" in lines[0]
        wait_for_port(port, winner)
        assert winner.poll() is None
    finally:
        for each in services:
            stop(each)
            each.stderr.close()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_l6_a_service_whose_workers_are_all_killed_keeps_its_port(fresh_url, tmp_path):
    ini = write_ini(tmp_path, databases.migrated(fresh_url))
    with serving(ini, workers=1) as http:
        port = str(http.base_url.port)
        for kill in range(volume(1, 3)):
            if kill:
                time.sleep(6)  # Granian ends if a worker fails twice in five seconds
            [pid] = re.findall(r"Spawning worker-1 with PID: (\d+)", http.log.read_text())[-1:]
            os.kill(int(pid), signal.SIGKILL)
            assert authsite("serve", "--port", port, ini=ini).returncode == 1
            wait_for_port(int(port), http.process)
        http.process.kill()
        time.sleep(0.5)
    # Once the workers have ended, too, nothing is left of it.
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            with serving(ini, port=int(port)) as http:
                assert http.get("/v1/user").status_code == 401
                return
        except RuntimeError:
            time.sleep(0.5)
    pytest.fail("the port stays taken")


def test_b2_another_program_on_the_port_is_one_sentence(tmp_path, fresh_url):
    ini = write_ini(tmp_path, databases.migrated(fresh_url))
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = authsite("serve", "--port", str(port), ini=ini)
    assert done.returncode == 1
    [line] = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    assert line.startswith(f"Error: 127.0.0.1:{port} cannot be used: ")
    assert done.stdout == ""
