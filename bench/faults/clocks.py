"""R16: the clock of one of two servers jumps, five minutes forwards and backwards."""

import os
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

from .. import machine
from . import invariants
from .rig import rig, summary
from .rows import limit, none
from .traffic import PASSWORD, TOKEN, Traffic, good, invalid

SKEW = 300  # seconds
LIFETIME, WINDOW = 3600, 300  # seconds
ACCOUNT = 20  # wrong passwords; of right ones, as many are checked at the same time
JUMPS = (SKEW, -SKEW, 0)  # the second one is ten minutes back, as after a wrong time server


def jump(short):
    """R16: both servers are in use while the clock of one jumps three times."""
    settings = {
        "limits": "on",
        "limits.login-address": "100000/hour",
        "limits.login-account": f"{ACCOUNT}/{WINDOW} seconds",
        "limits.client-auth": "100000/hour",
        "expires_in": f"{LIFETIME}s",
    }
    with rig(**settings) as made, skewed(made) as (port, move):
        half = len(made.sessions) // 2
        own, other = made.sessions[:half], made.sessions[half:]
        rates = {"guard": 13, "refresh": 5, "login": 1}
        first = Traffic(made.port, made.client, own, rates=rates)
        second = Traffic(port, made.client, other, rates=rates, seed=2)
        found = []
        with first, second:
            for skew in JUMPS:
                move(skew)
                time.sleep(4 if short else 20)
                found.append(measured(made, port, f"skew{skew}@example.com"))
        answers = [*first.answers, *second.answers]
        first.sessions += second.sessions  # the invariants ask the server whose clock is right
        first.made += second.made
        failed = [a for a in answers if not good(a)]
        done = "the clock of one of two servers: " + ", ".join(f"{jump:+} s" for jump in JUMPS)
        return [
            none("R16", done, f"failures ({summary(answers)})", len(failed)),
            none("R16", done, "valid tokens called invalid", len(invalid(answers))),
            limit("R16", done, "error of a lifetime", SKEW + 2, worst(found, "lifetime"), "s"),
            # The clock that is ahead sees the end of the first lockout: one more attempt.
            limit("R16", done, f"wait at both servers, whose second lockout is {2 * WINDOW} s",
                  2 * WINDOW + SKEW, worst(found, "wait"), "s"),
            # A mail of the server that is ahead is due later for the other one.
            invariants.check("R16", made, first, mail_seconds=60 + SKEW),
        ]  # fmt: skip


@contextmanager
def skewed(made):
    """A server on the same database: its port, and a function that sets its clock."""
    with tempfile.TemporaryDirectory(prefix="authsite-skew-") as name:
        file = Path(name, "seconds")
        file.write_text("0")
        port = machine.free_port()
        variables = {
            "AUTHSITE_ENV_FILE": os.devnull,
            "AUTHSITE_CONFIG": str(made.ini),
            "AUTHSITE_DATABASE_URL": made.postgres.url,
            "BENCH_SKEW": str(file),
        }

        def move(seconds):
            new = file.with_suffix(".new")
            new.write_text(str(seconds))
            new.replace(file)  # at once: a server reads it at any time

        with machine.process("-m", "bench.serve", "skewed", port, 1, port=port, **variables):
            yield port, move


def measured(made, port, name):
    """What the right clock says of a token of the wrong one, and how long each makes one wait."""
    right, wrong = made.server.base_url, httpx.URL(f"http://127.0.0.1:{port}")
    login = {"grant_type": "password", "username": "ann@example.com"} | made.client
    with httpx.Client(timeout=30) as client:

        def ask(server, form):
            return client.post(str(server.join(TOKEN)), data=form)

        waits = []
        for attempt in range(2 * ACCOUNT + 4):
            form = {**login, "username": name, "password": "wrong 1"}
            answer = ask((right, wrong)[attempt % 2], form)
            waits.append(int(answer.headers.get("Retry-After", 0)))
        return {"lifetime": lifetime(client, right, wrong, made), "wait": max(waits)}


def lifetime(client, right, wrong, made):
    """By how many seconds a token of the server ``wrong`` lives shorter or longer."""
    form = {"grant_type": "password", "username": "ann@example.com", "password": PASSWORD}
    while True:
        issued = client.post(str(wrong.join(TOKEN)), data=form | made.client).json()
        if "access_token" in issued:
            break
        time.sleep(1)  # all hash threads are busy, or the account waits
    ask = made.client | {"token": issued["access_token"]}
    answer = client.post(str(right.join("/v1/oauth/introspect")), data=ask).json()
    return abs(answer["exp"] - time.time() - LIFETIME)


def worst(found, name):
    """The largest of the measurements."""
    return max(each[name] for each in found)
