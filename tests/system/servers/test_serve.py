"""The server as its user starts it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.support import databases
from tests.support.home import CHECKOUT
from tests.support.rotating import reload
from tests.support.servers import (
    START_SECONDS,
    authsite,
    free_port,
    serving,
    write_ini,
)
from tests.support.site import SECRET, WEB

# The parent of a worker that makes its application itself, as where processes are not forked.
PARENT = """
import os, signal
from authsite.monitoring.workers import metrics_folder
from authsite.server import worker
from authsite.server.worker import failure_in
with metrics_folder() as folder:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    child = os.fork()
    if not child:
        worker.application()
    signal.sigwait([signal.SIGTERM])
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(failure_in(folder))
"""


def test_authsite_serve_answers_and_tells_systemd(fresh_url, tmp_path):
    ini = write_ini(tmp_path, databases.migrated(fresh_url))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(10)
        with serving(ini, workers=2, NOTIFY_SOCKET=str(tmp_path / "notify")) as http:
            assert http.get("/v1/user").status_code == 401
            assert systemd.recv(100) == b"READY=1"


def test_what_the_server_says_to_open_is_its_own_address(fresh_url, tmp_path):
    url = databases.migrated(fresh_url)
    with serving(write_ini(tmp_path, url)) as http:
        assert f"API            http://localhost:{http.base_url.port}/docs" in http.log.read_text()
    ours = "https://auth.example.org"
    with serving(write_ini(tmp_path, url, base_url=f"{ours} https://other.example.org")) as http:
        said = http.log.read_text()
    assert f"authsite is running at {ours}; it listens on http://localhost:" in said
    assert f"API            {ours}/docs" in said
    assert "curl -s http://localhost" not in said


def test_a_login_page_that_does_not_exist_is_one_message_before_any_worker_starts(
    fresh_url, tmp_path
):
    ini = write_ini(tmp_path, databases.migrated(fresh_url), login_page_url="signin")
    done = authsite("serve", "--port", str(free_port()), "--workers", "4", ini=ini)
    assert done.returncode == 1
    assert done.stderr.count("authsite.login-page-url = 'signin'") == 1
    assert "Spawning" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "authsite is running" not in done.stdout
    examined = authsite("doctor", ini=ini)
    assert examined.returncode == 1
    assert "login-page-url" in examined.stdout


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_worker_that_replaces_another_has_the_settings_of_the_start(fresh_url, tmp_path):
    """Two workers of one service must not differ, and an ini that is being edited ends nothing."""
    ini = write_ini(tmp_path, databases.migrated(fresh_url))
    with serving(ini, workers=1) as http:
        ini.write_text(f"{ini.read_text()}authsite.login-page-url = signin\n")
        [pid] = re.findall(r"Spawning worker-1 with PID: (\d+)", http.log.read_text())
        os.kill(int(pid), signal.SIGKILL)
        until = time.monotonic() + START_SECONDS
        while http.log.read_text().count("Started worker-1") < 2:
            assert time.monotonic() < until, http.log.read_text()
            time.sleep(0.05)
        assert http.get("/v1/user").status_code == 401
        assert http.process.poll() is None


def test_a_reload_reads_the_settings_again(fresh_url, tmp_path):
    ini = write_ini(tmp_path, databases.migrated(fresh_url))
    with serving(ini) as http:
        assert http.get("/docs").status_code == 200
        ini.write_text(f"{ini.read_text()}authsite.docs-page = off\n")
        reload(http)
        assert http.get("/docs").status_code == 404


def test_a_worker_that_cannot_start_ends_the_service_with_its_message(tmp_path):
    ini = write_ini(tmp_path, "sqlite:///missing.sqlite", login_page_url="signin")
    environment = {**os.environ, "AUTHSITE_CONFIG": str(ini), "AUTHSITE_ENV_FILE": os.devnull}
    said = subprocess.run(
        [sys.executable, "-c", PARENT],
        env=environment,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=True,
    )
    assert said.stdout.count("authsite.login-page-url = 'signin'") == 1
    assert "Traceback" not in said.stderr


def test_m10_the_errors_of_doctor_stand_before_the_greeting(fresh_url, tmp_path):
    ini = write_ini(tmp_path, databases.migrated(fresh_url), **WEB)
    with serving(ini) as http:
        log = http.log.read_text()
    wrong = "WRONG  clients.web.id: the database has no enabled client with this id and secret"
    assert log.index(wrong) < log.index("authsite is running at")
    assert log.count("WRONG") == 1


def lines_of(http, part):
    """The lines of the log with ``part``, once there are any."""
    deadline = time.monotonic() + 20
    while part not in http.log.read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    return [line for line in http.log.read_text().splitlines() if part in line]


@pytest.mark.control("G02")
def test_m12_in_development_the_log_has_a_line_for_each_request_in_one_format(fresh_url, tmp_path):
    with serving(write_ini(tmp_path, databases.migrated(fresh_url))) as http:
        answer = http.post("/v1/register?token=geheim", data={"email": "x", "password": "hunter2"})
        [line] = lines_of(http, "POST /v1/register")
        log = http.log.read_text()
    assert re.fullmatch(
        r"\S+Z \[info     \] POST /v1/register 422 \d+ ms +error=invalid "
        r"reason='email: invalid, password: weak_password' request_id="
        + answer.headers["X-Request-Id"],
        line,
    )
    assert "geheim" not in log
    assert "hunter2" not in log
    assert re.search(r"^\S+Z \[info     \] Started worker-1", log, re.MULTILINE)
    assert "[INFO]" not in log


def test_m12_in_production_requests_are_objects_unless_a_setting_turns_them_off(
    fresh_url, tmp_path
):
    production = {"production": "true", "base_url": "http://localhost", "mail_driver": "file"}
    url = databases.migrated(fresh_url)
    with serving(write_ini(tmp_path, url, **production, log_requests="off")) as http:
        http.get("/v1/user")
        http.process.terminate()
        http.process.wait(20)
        assert '"path": "/v1/user"' not in http.log.read_text()
    with serving(write_ini(tmp_path, url, **production)) as http:
        http.get("/v1/hunter2")
        [line] = lines_of(http, '"status": 404')
        assert "hunter2" not in http.log.read_text()
    shown = json.loads(line)
    assert (shown["event"], shown["status"], shown["error"]) == ("request", 404, "not_found")
    assert shown["path"] == "/v1/…"


@pytest.mark.parametrize(
    "section",
    [
        "use = egg:shop",
        "use = egg:authsite#other",
        "use = call:shop:main",
        "use = config:base.ini",
        "paste.app_factory = shop:main",
    ],
)
def test_trial_20_an_ini_of_another_program_is_refused(tmp_path, section):
    (tmp_path / "base.ini").write_text("[app:main]\nuse = egg:shop\n")
    ini = tmp_path / "host.ini"
    ini.write_text(
        f"[app:main]\n{section}\nauthsite.secret = {SECRET}\n"
        f"authsite.database-url = sqlite:///{tmp_path}/x.sqlite\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:  # so that it cannot serve in any case
        done = authsite("serve", "--port", str(taken.getsockname()[1]), ini=ini)
    assert done.returncode == 1
    assert "pserve" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_h7_a_server_that_sends_mail_needs_its_own_address(tmp_path, fresh_url):
    ini = write_ini(tmp_path, databases.migrated(fresh_url), mail_driver="smtp")
    for command in (["serve", "--port", str(free_port())], ["mail", "send"]):
        refused = authsite(*command, ini=ini)
        assert refused.returncode == 1
        assert "authsite.base-url" in refused.stderr
        assert "Traceback" not in refused.stderr
    assert authsite("mail", "list", ini=ini).returncode == 0
    assert authsite("client", "list", ini=ini).returncode == 0


def test_m10_unsafe_choices_and_files_are_named_at_the_start(tmp_path, fresh_url):
    ini = write_ini(
        tmp_path, databases.migrated(fresh_url), trusted_proxies="*", refresh_grace="1h"
    )
    ini.chmod(0o644)
    (tmp_path / "authsite.env").touch(0o644)
    with serving(ini, AUTHSITE_ENV_FILE="") as http:
        notes = [line for line in http.log.read_text().splitlines() if line.startswith("note: ")]
    for subject in ("authsite.trusted-proxies", "authsite.refresh-grace", str(ini),
                    f"{tmp_path}/authsite.env"):  # fmt: skip
        assert len([note for note in notes if note.startswith(f"note: {subject}: ")]) == 1


def test_make_serve_takes_a_port():
    done = subprocess.run(
        ["make", "--dry-run", "serve", "PORT=7001"],
        capture_output=True, text=True, check=True, cwd=CHECKOUT,
    )  # fmt: skip
    assert "--port 7001" in done.stdout


def test_an_idle_connection_is_closed_after_the_time_of_keep_alive(tmp_path):
    """A proxy that keeps a connection for longer sends a request into a closed one."""
    ini = write_ini(tmp_path, f"sqlite:///{tmp_path}/x.sqlite")
    with serving(ini, options=["--keep-alive", "2"]) as server, socket.socket() as connection:
        connection.settimeout(20)
        connection.connect(("127.0.0.1", server.base_url.port))
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        began = time.monotonic()
        while connection.recv(65536):
            pass
        assert 1 < time.monotonic() - began < 10
