"""``python -m bench.forgot``: does the time of `forgot` reveal whether an address is known?

Calls for known, unknown, unconfirmed, disabled and limited addresses are interleaved at random on
one connection, once while the mail server accepts everything and once while it hangs. Compare
only the ratios; ``known`` is measured twice, and the ratio of the two is chance.
"""

import argparse
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sqlalchemy.orm import Session

from authsite.platform.db import open_database
from authsite.sign_in.identifiers import parse_identifier
from authsite.users import service as users
from tests.support.acting import acting
from tests.support.smtp import mail_server

from . import machine
from .seed import SECRET

KINDS = ("known", "known again", "unknown", "unconfirmed", "disabled", "limited")
WARM_UP = 20  # rounds that are not counted
PER_HOUR = 5  # mails to one address, as it is by default


def main():
    """Run both and print the tables."""
    options = argparse.ArgumentParser(prog="python -m bench.forgot", description=__doc__)
    options.add_argument("--calls", type=int, default=400, help="of each kind")
    options.add_argument("--url", help="a database of your own; it is filled and not emptied")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="authsite-bench-") as name, mail_server() as post:
        folder = Path(name)
        url = given.url or f"sqlite:///{folder}/forgot.sqlite"
        path, port = ini(folder, url, post.port), machine.free_port()
        serve = ("-m", "authsite", "serve", "--config", path, "--port", port, "--workers", 1)
        own = {"AUTHSITE_BASE_URL": f"http://127.0.0.1:{port}", "AUTHSITE_ENV_FILE": os.devnull}
        with machine.process(*serve, port=port, **own):
            print(f"{machine.describe()}; {url.partition(':')[0]}")
            for state, mode in (("takes mail", "ok"), ("hangs", "hang")):
                post.mode = mode
                addresses = fill(url, mode, given.calls + WARM_UP)
                seen = measure(port, addresses, given.calls)
                report(f"The mail server {state} ({len(post.taken)} taken so far)", seen)


def ini(folder, url, smtp_port):
    """An ini file with limits on; only the one for a client's address is out of the way."""
    path = folder / "forgot.ini"
    path.write_text(
        "[app:main]\nuse = egg:authsite\n"
        f"authsite.secret = {SECRET}\nauthsite.database-url = {url}\n"
        f"authsite.mail-driver = smtp\nauthsite.smtp-url = smtp://127.0.0.1:{smtp_port}\n"
        "authsite.limits.forgot-address = 999999/hour\n"
        f"authsite.limits.forgot-email = {PER_HOUR}/hour\n"
    )
    subprocess.run(
        [sys.executable, "-m", "authsite", "db", "upgrade", "--config", str(path)],
        check=True,
        capture_output=True,
        env={**os.environ, "AUTHSITE_ENV_FILE": os.devnull},
    )
    return path


def fill(url, run, count):
    """A list of ``count`` addresses for each kind; the taken ones are in the database."""
    addresses = {
        kind: [f"{run}.{kind.replace(' ', '.')}.{n:05}@example.com" for n in range(count)]
        for kind in KINDS
    }
    addresses["limited"] = addresses["limited"][:1] * count
    database = open_database(url)
    with Session(database.transactional) as db, db.begin():
        for kind in set(KINDS) - {"unknown"}:
            for address in dict.fromkeys(addresses[kind]):
                confirmed = kind != "unconfirmed"
                name = parse_identifier("email", address)
                user = users.create(acting(db), [name], None, confirmed=confirmed)
                if kind == "disabled":
                    users.disable(acting(db), user)
    database.dispose()
    return addresses


def measure(port, addresses, calls):
    """Milliseconds of each call, by kind."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    chance = random.Random(7)  # noqa: S311  no secrets here
    seen, bodies = {kind: [] for kind in KINDS}, set()
    for _ in range(PER_HOUR):
        request_reset(connection, port, addresses["limited"][0])
    for number in range(calls + WARM_UP):
        for kind in chance.sample(KINDS, len(KINDS)):
            taken, answer = request_reset(connection, port, addresses[kind][number])
            bodies.add(answer)
            if number >= WARM_UP:
                seen[kind].append(taken * 1000)
    connection.close()
    if len(bodies) != 1:
        raise SystemExit(f"The answers differ: {bodies}")
    return seen


def request_reset(connection, port, address):
    """Seconds that one call took, and what was answered."""
    page = f"http://127.0.0.1:{port}/password/reset"
    body = json.dumps({"email": address, "reset_url": page})
    began = time.perf_counter()
    connection.request("POST", "/v1/password/forgot", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.status, response.read()
    return time.perf_counter() - began, answer


def report(title, seen):
    """Print one table, as Markdown.

    The last column sets each call against the median of its round: what slows a busy machine
    down for a while slows them all.
    """
    print(f"\n{title}\n\n| address | median ms | of `known` | of its round |")
    print("|---|---|---|---|")
    rounds = [statistics.median(each) for each in zip(*seen.values(), strict=True)]
    known = statistics.median(seen["known"])
    for kind, times in seen.items():
        median = statistics.median(times)
        share = statistics.median(a / b for a, b in zip(times, rounds, strict=True))
        print(f"| {kind} | {median:.2f} | {median / known:.3f} | {share:.3f} |")


if __name__ == "__main__":
    main()
