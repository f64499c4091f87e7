"""``python -m bench.login_times``: does the time of a login reveal whether a name is known?

Logins with a wrong password of known, unknown, disabled and unconfirmed users, and with the right
one of disabled users, are interleaved at random on one connection. Each name is used once, so that
no limit is reached. Compare only the ratios; ``known`` is measured twice, and the ratio of the two
is chance (OWASP Authentication Cheat Sheet, "Authentication Responses"; the aim is 5 %).
"""

import argparse
import http.client
import os
import random
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from authsite.oauth.clients import service as clients
from authsite.platform.context import make_services
from authsite.platform.db import open_database
from authsite.platform.settings import load, read_ini
from authsite.sign_in.identifiers import parse_identifier
from authsite.users import service as users
from tests.support.acting import acting

from . import machine
from .forgot import WARM_UP, ini, report

RIGHT, WRONG = "lamp 42 tea", "another 7 word"
DISABLED = ("disabled", "disabled, right password")
KINDS = ("known", "known again", "unknown", "unconfirmed", *DISABLED)


def main():
    """Measure, and print the table."""
    options = argparse.ArgumentParser(prog="python -m bench.login_times", description=__doc__)
    options.add_argument("--calls", type=int, default=400, help="of each kind")
    options.add_argument("--cost", type=int, default=10, help="of bcrypt")
    options.add_argument("--url", help="a database of your own; it is filled and not emptied")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="authsite-bench-") as name:
        url = given.url or f"sqlite:///{name}/login.sqlite"
        path, port = ini(Path(name), url, smtp_port=1), machine.free_port()
        with path.open("a") as file:
            file.write(f"authsite.bcrypt-cost = {given.cost}\n")
            file.write("authsite.limits.login-address = 999999/hour\n")
            file.write("authsite.prevent-enumeration = true\n")
        form, names = fill(path, given.calls + WARM_UP)
        serve = ("-m", "authsite", "serve", "--config", path, "--port", port, "--workers", 1)
        own = {"AUTHSITE_BASE_URL": f"http://127.0.0.1:{port}", "AUTHSITE_ENV_FILE": os.devnull}
        with machine.process(*serve, port=port, **own):
            print(f"{machine.describe()}; {url.partition(':')[0]}, bcrypt cost {given.cost}")
            report("Logins that fail", measure(port, form, names, given.calls))


def fill(path, count):
    """The form of a client, and for each kind ``count`` names; the known ones are users."""
    services = make_services(load(read_ini(path), {}), limits=False)
    stored = services.passwords.hash(RIGHT)
    names = {
        kind: [
            f"{kind.replace(', ', '.').replace(' ', '.')}.{n:05}@example.com" for n in range(count)
        ]
        for kind in KINDS
    }
    database = open_database(services.settings.database_url.reveal())
    with Session(database.transactional) as db, db.begin():
        client, secret = clients.create(acting(db), "bench", "password")
        form = {"client_id": str(client.id), "client_secret": secret, "grant_type": "password"}
        for kind in set(KINDS) - {"unknown"}:
            for name in names[kind]:
                identifiers = [parse_identifier("email", name)]
                confirmed = kind != "unconfirmed"
                user = users.create(acting(db), identifiers, stored, confirmed=confirmed)
                if kind in DISABLED:
                    users.disable(acting(db), user)
    database.dispose()
    return form, names


def measure(port, form, names, calls):
    """Milliseconds of each login, by kind."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    chance = random.Random(7)  # noqa: S311  no secrets here
    seen, bodies = {kind: [] for kind in KINDS}, set()
    for number in range(calls + WARM_UP):
        for kind in chance.sample(KINDS, len(KINDS)):
            password = RIGHT if kind == DISABLED[1] else WRONG
            answer = {**form, "username": names[kind][number], "password": password}
            began = time.perf_counter()
            connection.request(
                "POST", "/v1/oauth/token", urlencode(answer),
                {"Content-Type": "application/x-www-form-urlencoded"},
            )  # fmt: skip
            response = connection.getresponse()
            bodies.add((response.status, response.read()))
            if number >= WARM_UP:
                seen[kind].append((time.perf_counter() - began) * 1000)
    connection.close()
    if len(bodies) != 1:
        raise SystemExit(f"The answers differ: {bodies}")
    return seen


if __name__ == "__main__":
    main()
