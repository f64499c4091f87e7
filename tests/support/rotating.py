"""A rotation of secret and pepper on two server processes in use (R25): what it cost its users.

``rotation_in_use(folder, url)`` returns a `Cost`; everything in it must be zero but ``requests``.
"""

import itertools
import random
import signal
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from tests.support.mails import link_in, read_folder, values_in
from tests.support.servers import authsite, serving, write_ini
from tests.support.site import PASSWORD, SECRET, Site, bearer

PAGE = "https://app.example.com/verify"


@dataclass
class Cost:
    """What the rotation cost. A failure is named by what was asked for and the status."""

    requests: int = 0
    failures: Counter = field(default_factory=Counter)
    links: int = 0
    broken_links: int = 0
    sign_ins: int = 0
    logouts: int = 0

    def count(self, what, answer, expected=200):
        """Count one response of the load."""
        self.requests += 1
        if answer.status_code != expected:
            self.failures[f"{what}: {answer.status_code}"] += 1
        return answer


def rotation_in_use(folder, url, *, visitors=3):
    """Rotate both, from the first step to the end of the old ones, while ``visitors`` use them."""
    cost, step = Cost(), itertools.count(1)
    with _machines(folder, url) as (ini, servers, people, keys):
        links, forms = _Links(servers, folder / "mail"), _Sessions(servers)
        first = [_log_in(servers[0], keys, email) for email in people]
        for server in servers:
            links.ask(server, next(step))
        with _load(servers, people, keys, visitors, cost):
            for options in ([], ["--finish"]):
                _run(ini, "rotate", *options)
                _run(ini, "rotate", "--pepper", *options)
                for server in servers:  # one reload is for both
                    reload(server)
                    links.ask(server, next(step))
        links.use_all(cost)
        # Every sign-in from before is still one, at both servers.
        for server, tokens in zip(itertools.cycle(servers), first, strict=False):
            cost.sign_ins += 1
            cost.logouts += _refresh(server, keys, tokens).status_code != 200
        forms.check(cost)
    return cost


def reload(server, seconds=60):
    """Send SIGHUP to a server of `serving`; returns when its old worker has ended."""
    ended = "Stopped old worker-"
    before = server.log.read_text().count(ended)
    server.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + seconds
    while server.log.read_text().count(ended) == before:
        assert time.monotonic() < deadline, server.log.read_text()[-2000:]
        time.sleep(0.05)


@contextmanager
def _machines(folder, url):
    """Two servers with one environment file, as on two machines to which it is copied."""
    ini = write_ini(
        folder, url, mail_driver="file", mail_folder=folder / "mail", allowed_verify_email_urls=PAGE
    )
    ini.write_text(ini.read_text().replace(f"authsite.secret = {SECRET}\n", ""))
    own = {"AUTHSITE_ENV_FILE": str(folder / "authsite.env")}
    (folder / "authsite.env").write_text(f"AUTHSITE_SECRET={SECRET}\n")
    site = Site(url)
    try:
        people = [f"person-{number}@example.com" for number in range(6)]
        for email in people:
            site.user(email, confirmed=True)
        keys = site.client()
        with ExitStack() as stack:
            servers = [stack.enter_context(serving(ini, **own)) for _ in range(2)]
            yield ini, servers, people, keys
    finally:
        site.database.dispose()


def _run(ini, *command):
    own = str(ini.parent / "authsite.env")
    done = authsite("secret", *command, ini=ini, AUTHSITE_ENV_FILE=own)
    assert done.returncode == 0, done.stderr


@contextmanager
def _load(servers, people, keys, count, cost):
    """Visitors who log in, refresh and call a guarded route, each time at either server."""
    end, errors = threading.Event(), []

    def visit(seed):
        choose = random.Random(seed)  # noqa: S311  the choice of a server
        with ExitStack() as stack:
            own = [
                stack.enter_context(httpx.Client(base_url=server.base_url, timeout=30))
                for server in servers
            ]
            while not end.is_set():
                answer = cost.count("login", _password(choose.choice(own), keys, people[seed]))
                for _ in range(5):
                    if answer.status_code != 200:
                        break
                    token = bearer(answer.json()["access_token"])
                    cost.count("guard", choose.choice(own).get("/v1/user", headers=token))
                    answer = _refresh(choose.choice(own), keys, answer.json())
                    cost.count("refresh", answer)

    def visiting(seed):
        try:
            visit(seed)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=visiting, args=(seed,)) for seed in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()
    for error in errors:
        cost.failures[repr(error)] += 1


class _Links:
    """Verification links that are mailed all the time, and used when the rotation is over."""

    def __init__(self, servers, folder):
        self.servers, self.folder, self.asked = servers, folder, 0

    def ask(self, server, number):
        email = f"new-{number}@example.com"
        body = {"email": email, "password": PASSWORD, "verification_url": PAGE}
        answer = server.post("/v1/register", json=body)
        assert answer.status_code == 201, answer.text
        self.asked += 1

    def use_all(self, cost, seconds=60):
        mails, deadline = [], time.monotonic() + seconds
        while len(mails) < self.asked and time.monotonic() < deadline:
            mails += read_folder(self.folder)
            time.sleep(0.05)
        assert len(mails) == self.asked
        for server, mail in zip(itertools.cycle(self.servers), mails, strict=False):
            page = urlsplit(link_in(mail))
            parts = urlsplit(values_in(server.get(page.path).text)["url"])
            cost.links += 1
            cost.broken_links += server.get(f"{parts.path}?{parts.query}").status_code != 200


class _Sessions:
    """A browser that signed in before the rotation, with a form that stood open."""

    def __init__(self, servers):
        self.servers, self.cookies = servers, httpx.Cookies()
        page = self._send("GET", "/login")
        body = {"username": "person-0@example.com", "password": PASSWORD, "csrf_token": _csrf(page)}
        assert self._send("POST", "/login", data=body).status_code in (200, 302, 303)
        self.token = _csrf(self._send("GET", "/account"))

    def check(self, cost):
        """Signed in at both servers; the form that stood open is taken."""
        for number in (0, 1):
            cost.sign_ins += 1
            cost.logouts += self._send("GET", "/account", number).status_code != 200
        answer = self._send("POST", "/logout", 1, data={"csrf_token": self.token})
        if answer.status_code not in (302, 303):
            cost.failures[f"form: {answer.status_code}"] += 1

    def _send(self, method, path, number=0, **more):
        with httpx.Client(base_url=self.servers[number].base_url, cookies=self.cookies) as browser:
            answer = browser.request(method, path, **more)
            self.cookies = browser.cookies
            return answer


def _csrf(page):
    return page.text.split('name="csrf_token" value="')[1].split('"')[0]


def _password(http, keys, email):
    form = keys.form(grant_type="password", username=email, password=PASSWORD)
    return http.post("/v1/oauth/token", data=form)


def _log_in(http, keys, email):
    answer = _password(http, keys, email)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _refresh(http, keys, tokens):
    form = keys.form(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
    return http.post("/v1/oauth/token", data=form)
