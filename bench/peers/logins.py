"""Logins of several steps, which wrk cannot send: from threads of this process.

The password's hash takes a tenth of a second, beside which this client takes nothing.
"""

import http.client
import statistics
import threading
import time
from typing import NamedTuple

from benchlib import DURATION, PORT, RUNS, steady

CONNECTIONS = 8  # as with passwords alone: more would only wait
SECONDS = DURATION * 3 // 2  # 12 of 8, also as there
PAUSE = 0.25  # seconds after a login that failed, since more of them at once would fail, too
FORM, JSON = "application/x-www-form-urlencoded", "application/json"


class Answer(NamedTuple):
    """What a step answered."""

    status: int
    body: bytes


def logins(login, server):
    """A row of rates, as ``benchlib.measure`` returns it.

    ``login`` gets a function that sends one request, and answers whether the login succeeded; None
    if it was refused for the moment, and does not count.
    """
    rows = []
    for number in range(RUNS + 1):
        seconds = SECONDS if number else 1  # the first run only warms up

        def run(seconds=seconds):
            return _run(login, seconds)

        rows.append(steady(run, server) if number else (run(), 0))
    done = rows[1:]
    middle = sorted((row for row, _ in done), key=lambda row: row["rps"])[len(done) // 2]
    return {
        "rps": middle["rps"],
        "rps_all": [row["rps"] for row, _ in done],
        "p50_ms": middle["p50_ms"],
        "p99_ms": middle["p99_ms"],
        "conns": CONNECTIONS,
        "seconds": SECONDS,
        "foreign_cores": round(max(foreign for _, foreign in done), 2),
        "bad_status": sum(row["bad"] for row, _ in done),
        "refused": sum(row["refused"] for row, _ in done),
        "socket_errors": 0,
    }


def _run(login, seconds):
    times, bad, refused = [], [], []
    until = time.monotonic() + seconds

    def work():
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)

        def send(method, path, body=None, *, kind=FORM, **headers):
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, {"Content-Type": kind, **named})
            answer = connection.getresponse()
            return Answer(answer.status, answer.read())

        while time.monotonic() < until:
            began = time.monotonic()
            succeeded = login(send)
            if succeeded:
                times.append(time.monotonic() - began)
            else:
                (refused if succeeded is None else bad).append(1)
                time.sleep(PAUSE)
        connection.close()

    began = time.monotonic()
    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - began
    cuts = statistics.quantiles(times, n=100) if len(times) > 1 else [0.0] * 99
    return {
        "rps": round(len(times) / took, 2),
        "p50_ms": round(cuts[49] * 1000, 1),
        "p99_ms": round(cuts[98] * 1000, 1),
        "bad": len(bad),
        "refused": len(refused),
    }
