"""``sh examples/forward-auth/start.sh nginx``: the one command of the example, at other ports."""

import getpass
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from urllib.parse import urlsplit

import httpx
import pytest

from tests.conftest import need
from tests.support import nginx
from tests.support.guarded import EXAMPLES
from tests.support.installed import CHECKOUT
from tests.support.pages import csrf_of, hidden_in
from tests.support.servers import START_SECONDS, free_port
from tests.support.site import PASSWORD, bearer

pytestmark = pytest.mark.slow

ANN = {"email": "ann@example.com", "password": PASSWORD}
BROWSER = {"Accept": "text/html"}


@pytest.fixture
def started(tmp_path):
    """The example, running: its base URL, the process of the script, and the ports."""
    need(nginx.available(), "nginx")
    folder = shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("var"))
    ports = {"8080": free_port(), "6543": free_port(), "8081": free_port()}
    for path in folder.rglob("*"):
        if path.suffix in (".conf", ".ini", ".py", ".sh"):
            text = re.sub("|".join(ports), lambda found: str(ports[found[0]]), path.read_text())
            # As root, nginx would read the files as another user, who cannot see this folder.
            path.write_text(text.replace("daemon off;", f"daemon off; user {getpass.getuser()};"))
    program = tmp_path / "authsite"
    program.write_text(
        f'#!/bin/sh\nexec env PYTHONPATH={CHECKOUT} {sys.executable} -m authsite "$@"'
    )
    program.chmod(0o755)
    ours = ("AUTHSITE_", "COVERAGE_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(
            ["sh", folder / "forward-auth" / "start.sh", "nginx"], cwd=tmp_path, stdout=log,
            stderr=log, env={**environ, "AUTHSITE": str(program)},
        )  # fmt: skip
    url = f"http://localhost:{ports['8080']}"
    try:
        wait_for_answer(url, process, tmp_path / "log")
        yield url, process, ports.values(), tmp_path / "log"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def wait_for_answer(url, process, log):
    """Until a page leads to the login and the application answers."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if (
                httpx.get(url, headers=BROWSER).status_code == 302
                and "Started worker" in log.read_text()
            ):
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"the example did not start:\n{log.read_text(errors='replace')}")


def test_one_command_starts_it_and_ctrl_c_ends_all_of_it(started):
    url, process, ports, log = started
    with httpx.Client(base_url=url, headers=BROWSER) as http:
        answer = http.get("/second.html?page=2")
        login = answer.headers["Location"]
        assert login == f"{url}/auth/login?next=/second.html%3Fpage%3D2"
        assert http.post("/auth/v1/register", json=ANN).status_code == 201
        sign_in(http, login)
        answer = http.get("/second.html?page=2")
        assert answer.headers["Location"] == f"{url}/auth/email/link?next=%2Fsecond.html%3Fpage%3D2"
        confirm(http, url, log)
        assert "The second page" in http.get("/second.html?page=2").text
        assert http.get("/api/reports").status_code == 401
        credentials = {"username": ANN["email"], "password": PASSWORD}
        pair = http.post("/auth/v1/clients/web/login", json=credentials).json()
        headers = bearer(pair["access_token"]) | {"X-Auth-User": "root", "X-Auth-Scope": "all"}
        told = http.get("/api/reports", headers=headers).json()
        assert told["X-Auth-Email"] == ANN["email"]
        assert told["X-Auth-Scope"] == ""
        assert "root" not in told.values()
        assert http.delete("/auth/v1/logout", headers=headers).status_code == 200
        assert http.get("/api/reports", headers=headers).status_code == 401
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    for port in ports:
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{port}/")


def confirm(http, url, log):
    """By the link of the mail, which authsite writes to the terminal."""
    form = {"csrf_token": csrf_of(http.get("/auth/email/link")), "email": ANN["email"]}
    assert http.post("/auth/email/link", data=form).status_code == 303
    link = re.compile(rf"{url}/auth/email/verify/\S+")
    deadline = time.monotonic() + 60
    while not (found := link.search(log.read_text(errors="replace"))):
        assert time.monotonic() < deadline, log.read_text(errors="replace")
        time.sleep(0.1)
    page = http.get(found[0])
    form = {"csrf_token": csrf_of(page), "url": hidden_in(page, "url")}
    assert http.post("/auth/email/verify", data=form).status_code == 200


def sign_in(http, login):
    """By the form of the login page; the browser is led to the page that it wanted."""
    csrf = csrf_of(http.get(login))
    form = {"username": ANN["email"], "password": PASSWORD, "csrf_token": csrf}
    answer = http.post(login, data={**form, "next": "/second.html?page=2"})
    assert answer.status_code == 303
    assert urlsplit(answer.headers["Location"]).path == "/second.html"
