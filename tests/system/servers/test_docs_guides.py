"""The guides: their commands run one after the other, and print what they say, on one server."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest

from tests.support import browsers, guides
from tests.support.home import CHECKOUT, OURS, Home
from tests.support.servers import free_port, serving, wait_for_port

pytestmark = pytest.mark.slow

PAGES = (
    "quick-start",
    "protect-api",
    "protect-pages",
    "scopes",
    "first-party",
    "third-party",
    "service-to-service",
    "single-page-app",
    "flask",
    "django",
    "fastapi",
    "clients",
    "tokens",
)
IN_A_BROWSER = {"protect-pages", "single-page-app"}  # these have a separate test
USER = {"email": "you@example.com", "password": "purple wolf 77 tea"}
END = "---- end of block ----"
# A program that runs until it is stopped, and with it what it has started.
IN_A_TERMINAL = """
setsid bash terminal.sh > terminal.log 2>&1 & program=$!
end() {
  kill -- -$program
  while curl -s -o /dev/null http://localhost:8000/; do sleep 0.05; done
}
trap end EXIT
until curl -s -o /dev/null http://localhost:8000/; do kill -0 $program; sleep 0.1; done
"""


class Newcomer:
    """The folder of a newcomer, with the commands that the guides install, and the service."""

    def __init__(self, folder):
        self.home = Home(folder)
        self.folder = folder
        self.ports = {"6543": str(free_port()), "8000": str(free_port())}
        environ = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
        self.environ = {**environ, "PYTHONPATH": str(CHECKOUT)}
        self._settings()
        self._programs()
        self.home.run("init")
        for page in PAGES:
            for block in guides.blocks(page):
                if block.title == guides.BEFORE:
                    self.bash(block.text)

    def _settings(self):
        """What the guides add to development.ini."""
        ini = self.home.ini.read_text()
        for page in PAGES:
            for block in guides.blocks(page):
                if block.title == "development.ini":
                    line = f"# {block.text.partition('=')[0]}=\n"
                    assert ini.count(line) == 1, line
                    ini = ini.replace(line, self.local(block.text))
        self.home.ini.write_text(ini)

    def _programs(self):
        """What `make serve` and the blocks that are not run would install; and their folders."""
        for folder in ("examples/flask", "examples/django", "examples/fastapi"):
            shutil.copytree(CHECKOUT / folder, self.folder / folder)
        shutil.copytree(CHECKOUT / "authsite/static/client", self.folder / "authsite/static/client")
        self._program(".venv/bin/authsite", "-m authsite", CHECKOUT)
        self._program(".venv/bin/pserve", "-m pyramid.scripts.pserve", f"{CHECKOUT}:.")
        for page in PAGES:
            for block in guides.blocks(page):
                if block.title == guides.NOT_RUN:
                    for venv in re.findall(r"-m venv (\S+)", block.text):
                        self._program(f"{venv}/bin/python", "", CHECKOUT / "clients/python")

    def _program(self, path, arguments, pythonpath):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f'#!/bin/sh\nPYTHONPATH={pythonpath} exec {sys.executable} {arguments} "$@"\n'
        )
        file.chmod(0o755)

    def local(self, text):
        """``text`` with the ports of this test."""
        return re.sub(r"\b(6543|8000)\b", lambda found: self.ports[found[1]], text)

    def bash(self, script):
        """The output of ``script``, which must succeed."""
        (self.folder / "script.sh").write_text(self.local(script))
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "script.sh"],
            cwd=self.folder, env=self.environ, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        log = self.folder / "terminal.log"
        assert done.returncode == 0, (
            done.stdout + done.stderr + (log.read_text() if log.exists() else "")
        )
        return done.stdout

    @contextmanager
    def terminal(self):
        """The program of the last page that had one, running."""
        with open(self.folder / "terminal.log", "wb") as log:
            process = subprocess.Popen(
                ["bash", "terminal.sh"],
                cwd=self.folder, env=self.environ, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            wait_for_port(int(self.ports["8000"]), process)
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(15)


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    made = Newcomer(tmp_path_factory.mktemp("guides"))
    variables = {
        "AUTHSITE_ENV_FILE": str(made.home.env_file),
        "AUTHSITE_BCRYPT_COST": "10",
        "AUTHSITE_LIMITS": "off",
    }
    with serving(made.home.ini, port=int(made.ports["6543"]), **variables) as http:
        made.http = http
        yield made


def script_of(newcomer, page):
    """The commands of ``page`` as one script, and the pattern of each block's output."""
    parts, patterns = [], []
    for block, expected in guides.with_output(page):
        if block.title == guides.TERMINAL:
            if block.text.strip() != "make serve":  # which runs already
                (newcomer.folder / "terminal.sh").write_text(newcomer.local(block.text))
                parts.append(IN_A_TERMINAL)
            continue
        parts.append(f"{block.text}\necho\necho '{END}'\n")
        patterns.append((block.text, expected))
    return "".join(parts), patterns


@pytest.mark.parametrize("page", sorted({*PAGES} - IN_A_BROWSER))
def test_the_commands_of_a_guide_print_what_it_says(newcomer, page):
    run(newcomer, page)


def run(newcomer, page):
    """Run the commands of ``page`` in order, and compare what they print."""
    if page == "quick-start":  # the user registers there
        newcomer.home.run("user", "delete", USER["email"], "--yes", status=None)
    else:
        newcomer.http.post("/v1/register", data=USER)
    for block in guides.blocks(page):
        if block.is_file and block.title != "development.ini":
            path = newcomer.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(newcomer.local(block.text))
    script, patterns = script_of(newcomer, page)
    printed = newcomer.bash(script).split(f"\n{END}\n")
    assert len(printed) == len(patterns) + 1
    for (commands, expected), output in zip(patterns, printed, strict=False):
        shown = output.replace("\r", "").strip()
        if expected:
            assert re.fullmatch(newcomer.local(expected), shown), (commands, shown)


def test_the_single_page_application_signs_in_restores_and_signs_out(newcomer, playwright):
    run(newcomer, "single-page-app")
    chromium = browsers.chromium(playwright, program=browsers.AS_PEOPLE_HAVE_IT)
    with chromium as browser, newcomer.terminal():
        page = browser.new_context().new_page()
        page.goto(f"http://localhost:{newcomer.ports['8000']}/")
        page.fill("[name=username]", USER["email"])
        page.fill("[name=password]", USER["password"])
        page.click("text=Sign in")
        page.wait_for_selector("text=Signed in as you@example.com")
        page.reload()
        page.wait_for_selector("text=Signed in as you@example.com")
        other = page.context.new_page()
        other.goto(page.url)
        other.wait_for_selector("text=Signed in as you@example.com")
        other.click("text=Sign out")
        page.wait_for_selector("text=Not signed in")


def test_the_pages_of_the_shop_are_for_those_who_sign_in(newcomer):
    run(newcomer, "protect-pages")
    url = f"http://127.0.0.1:{newcomer.ports['8000']}"
    browser = httpx.Client(base_url=url, follow_redirects=True, headers={"Accept": "text/html"})
    with newcomer.terminal(), browser as http:
        assert "next=/orders" in str(http.get("/orders").url)
        page = http.get("/auth/register?next=/orders")
        http.post("/auth/register", data={**USER, "csrf_token": csrf(page), "next": "/orders"})
        page = http.get("/auth/login?next=/orders")
        form = {"username": USER["email"], "password": USER["password"], "next": "/orders"}
        page = http.post("/auth/login", data={**form, "csrf_token": csrf(page)})
        assert re.search(r"Orders of [0-9a-f-]{36}<", page.text)  # the address is not confirmed
        http.post("/auth/logout", data={"csrf_token": csrf(page)})
        assert "/auth/login" in str(http.get("/orders").url)


def csrf(page):
    return re.search(r'name="csrf_token" value="([^"]+)"', page.text)[1]
