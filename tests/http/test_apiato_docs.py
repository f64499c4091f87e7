"""docs/apiato.md: clients of Passport are imported, and each request of the page runs with curl."""

import json
import re
import shlex
import subprocess
import threading
from configparser import ConfigParser
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from click.testing import CliRunner

from authsite.cli import authsite
from tests.conftest import need
from tests.support import foreign_systems as other
from tests.support.home import CHECKOUT
from tests.support.in_process import write_ini
from tests.support.mails import link_in

TEXT = (CHECKOUT / "docs/apiato.md").read_text(encoding="utf-8")
LOCAL = "http://localhost:6543"
# Printable in a shell's single quotes and in a form without encoding.
KNOWN = {
    "PASSWORD": "kitchen-lamp-on-a-tuesday",
    "CLIENT_SECRET": "SGUVv02b1ppQCgI7ZVeoTZDN6z8SSFLYiMOzzfiE",
    "OTHER_SECRET": "y1RbtnOvh9rpA91zPI2tiVKmFlepNy9dhHkzUKle",
}


def requests():
    """The curl commands of the page, as lists of words; placeholders are still in them."""
    for block in re.findall(r"```sh\n(curl .*?)```", TEXT, re.DOTALL):
        yield shlex.split(block.replace("\\\n", " "))


def settings():
    """The settings of the page."""
    [block] = re.findall(r"```ini\n(.*?)```", TEXT, re.DOTALL)
    parser = ConfigParser()
    parser.read_string(f"[app]\n{block}")
    given = {key.removeprefix("authsite."): value for key, value in parser["app"].items()}
    return {key: filled(value, KNOWN) for key, value in given.items()}


def filled(word, values):
    return re.sub(r"<([A-Z_]+)>", lambda found: values[found[1]], word)


class Silent(WSGIRequestHandler):
    """Logs nothing."""

    def log_message(self, *_):
        """Nothing."""


@contextmanager
def listening(app):
    """The URL of ``app`` on a server in this process."""
    with make_server("127.0.0.1", 0, app, handler_class=Silent) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def moved(site_with, tmp_path):
    """A site with the page's settings, and the users and clients of a shop on Apiato."""
    need(subprocess.run(["which", "curl"], capture_output=True).returncode == 0, "curl")
    site = site_with(**settings())
    tables = {
        "users": (
            other.PASSPORT_USERS,
            [other.user(1, email="ann@example.com", password=other.php_hash(KNOWN["PASSWORD"]))],
        ),
        "oauth_clients": (
            other.PASSPORT_CLIENTS,
            [
                other.client(2, password_client=1, secret=other.php_hash(KNOWN["CLIENT_SECRET"])),
                other.client(3, secret=KNOWN["OTHER_SECRET"], redirect=""),
            ],
        ),
    }
    (tmp_path / "shop.sql").write_text(other.mysql_dump(**tables))
    arguments = ["import", "passport", str(tmp_path / "shop.sql")]
    ini = write_ini(tmp_path / "site.ini", site.url)
    assert CliRunner().invoke(authsite, [*arguments, "--config", ini]).exit_code == 0
    return site


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)  # the import has its own tests
def test_every_request_of_the_page_runs_as_it_is(moved):
    values, answers = dict(KNOWN), []
    with listening(moved.app) as url:
        for words in requests():
            command = [filled(word, values).replace(LOCAL, url) for word in words]
            done = subprocess.run(
                [*command, "-sS", "-w", "\n%{http_code}"], capture_output=True, text=True
            )
            body, _, status = done.stdout.rpartition("\n")
            assert status in ("200", "201", "202"), (command, done.stdout, done.stderr)
            answer = json.loads(body)
            answers.append((status, answer))
            remember(values, command, answer, moved, url)
    fields = [set(answer) for _, answer in answers]
    tokens = {"token_type", "expires_in", "access_token", "refresh_token"}
    assert [each for each in fields if each & tokens] == [tokens] * 6
    assert answers[-1] == ("200", {"message": "Token revoked successfully."})
    assert len(answers) == 13


def remember(values, command, answer, site, url):
    """Keep what later requests of the page need of ``answer``, and of the mail that it caused."""
    if "refresh_token" in answer and not any("client_credentials" in word for word in command):
        values["ACCESS_TOKEN"] = answer["access_token"]
        values["REFRESH_TOKEN"] = answer["refresh_token"]
    for mail in site.mails():
        query = parse_qs(urlsplit(link_in(mail)).query)
        if "url" in query:
            signed = urlsplit(query["url"][0])
            values["SIGNED_URL"] = f"{url}{signed.path}?{signed.query}"
        if "token" in query:
            values["RESET_TOKEN"] = query["token"][0]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_what_the_table_of_differences_says_is_so(moved):
    http = moved.http
    form = {"grant_type": "client_credentials", "client_id": "3"}
    form["client_secret"] = KNOWN["OTHER_SECRET"]
    http.post_json("/v1/oauth/token", form, status=415)
    assert http.post("/v1/oauth/token", {**form, "scope": "*"}, status=400).json["error"] == (
        "invalid_scope"
    )
    token = http.post("/v1/oauth/token", form).json["access_token"]
    http.post("/v1/logout", headers={"Authorization": f"Bearer {token}"}, status=405)
    refused = http.get("/v1/user", status=401).json
    assert f"`{refused['message']}`" in TEXT
    assert refused["errors"] == []
    body = {"email": "cy@example.com", "password": "purple wolf 77 tea", "gender": "male"}
    assert "gender" not in http.post_json("/v1/register", body).json
    forgot = {"email": "nobody@example.com", "reset_url": settings()["allowed-reset-password-urls"]}
    http.post("/v1/password/forgot", forgot, status=202)
    http.post("/v1/register", body, upload_files=[("x", "x", b"x")], status=415)
    example = json.loads(re.search(r"```json\n(.*?)```", TEXT, re.DOTALL)[1])
    invalid = {"email": "no address", "password": "purple wolf 77 tea"}
    assert http.post_json("/v1/register", invalid, status=422).json == example
