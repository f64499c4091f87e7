"""examples/pyramid as its README starts it: one command, in a folder where nothing was done yet."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support import commands
from tests.support.commands import CHECKOUT
from tests.support.installed import clean_environ
from tests.support.servers import free_port, stop, wait_for_port
from tests.support.site import PASSWORD, bearer

EXAMPLE = CHECKOUT / "examples" / "pyramid"
ANN = "ann@example.com"


@pytest.fixture
def folder(tmp_path):
    """A copy of the example."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "pyramid", ignore=lambda *_: {"var"}))


@pytest.fixture
def environ():
    """What a new user has, and authsite installed."""
    return clean_environ(PYTHONPATH=str(CHECKOUT))


@pytest.fixture
def http(folder, environ):
    """A client of the running example."""
    port, ini = free_port(), folder / "notes.ini"
    ini.write_text(ini.read_text().replace("localhost:6543", f"127.0.0.1:{port}"))
    with open(folder / "log", "wb") as log:
        command = [sys.executable, "-m", "notes"]
        process = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)
    try:
        wait_for_port(port, process)
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=30, headers={"Accept": "text/html"}
        ) as client:
            yield client
    except RuntimeError as error:
        raise RuntimeError((folder / "log").read_text()) from error
    finally:
        stop(process)


def readme_command(folder):
    """The arguments of the `authsite` command in the README."""
    text = (folder / "README.md").read_text()
    [command] = re.findall(r"^authsite ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    return shlex.split(command.replace("\\\n", " "))


def test_one_command_starts_it_and_the_readme_leads_to_a_note_by_the_api(http, folder, environ):
    assert "Notes" in http.get("/").text
    assert http.get("/notes").headers["Location"].endswith("/auth/login?next=/notes")
    body = {"email": ANN, "password": PASSWORD}
    assert http.post("/auth/v1/register", data=body).status_code == 201

    page = http.get("/auth/login?next=/notes").text
    fields = {"csrf_token": csrf(page), "next": "/notes", "username": ANN, "password": PASSWORD}
    answer = http.post("/auth/login", data=fields)
    assert (answer.status_code, answer.headers["Location"].endswith("/notes")) == (303, True)
    page = http.get("/notes").text
    http.post("/notes", data={"csrf_token": csrf(page), "text": "milk"})
    assert "<li>milk</li>" in http.get("/notes").text
    assert http.get("/notes/delete").status_code == 200

    made = commands.run([*readme_command(folder), "--json"], cwd=folder, env=environ)
    assert made.returncode == 0, made.stderr
    keys = httpx.Response(200, text=made.stdout).json()
    form = {"grant_type": "password", "username": ANN, "password": PASSWORD}
    form |= {name: keys[name] for name in ("client_id", "client_secret")}
    token = http.post("/auth/v1/oauth/token", data=form).json()["access_token"]
    [note] = http.get("/api/notes", headers=bearer(token)).json()["notes"]
    assert note["text"] == "milk"
    assert not (folder / "authsite.env").exists()
    assert os.stat(folder / "var/authsite.env").st_mode & 0o777 == 0o600


def csrf(page):
    return re.search(r'name="csrf_token" value="([^"]+)"', page)[1]
