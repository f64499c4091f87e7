"""``python -m bench.path``: microseconds of CPU of one request, in this process, without a server.

More stable than a rate: nothing waits, and wrk and the server are not measured. With ``--profile``
it prints a profile of one kind of request instead.
"""

import argparse
import cProfile
import json
import logging
import os
import pstats
import sys
import tempfile
import time
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from authsite import main as authsite

from . import rivals, seed

CALLS = 1000
ROUNDS = 7
OURS = ("guard", "introspection", "login page", "credentials", "refresh")
TOKEN, INTROSPECT = "/v1/oauth/token", "/v1/oauth/introspect"


def main():
    """Print one table, or one profile."""
    options = argparse.ArgumentParser(prog="python -m bench.path", description=__doc__)
    options.add_argument("--url", help="an empty database of your own (default: SQLite)")
    options.add_argument("--profile", choices=OURS)
    given = options.parse_args()
    logging.disable(logging.WARNING)
    with applications(given.url) as calls:
        if given.profile:
            profile(calls[given.profile])
        else:
            report(weigh(calls))


@contextmanager
def applications(url):
    """What is weighed, by name: a function of a number that makes one request."""
    os.environ["AUTHSITE_ENV_FILE"] = os.devnull
    with tempfile.TemporaryDirectory(prefix="authsite-bench-") as name:
        folder = Path(name)
        url = url or f"sqlite:///{folder}/bench.sqlite"
        seed.ini(folder, url)
        files, pools, keys = seed.fill(folder, url, 1)
        os.environ["BENCH_DATABASE_URL"] = url
        tokens = files["access"].read_text().split()
        others = seed.fill_prototype(folder, url).read_text().split()
        questions = files["introspection"].read_text().split()
        [credentials] = files["credentials"].read_text().split()
        first = next(pools).read_text().split()[0]
        settings = {"secret": seed.SECRET, "database-url": url, "limits": "off"}
        ours = authsite({}, **{f"authsite.{name}": value for name, value in settings.items()})
        yield {
            "bare JSON view": get(rivals.bare(), "/", [""]),
            "prototype of a guard": get(rivals.prototype(), "/", others),
            "guard": get(ours, "/v1/user", tokens),
            "introspection": lambda number: post(
                ours, questions[number % len(questions)], INTROSPECT
            ),
            "login page": get(ours, "/login", [""]),
            "credentials": lambda _number: post(ours, credentials),
            "refresh": refresher(ours, first, keys),
        }
        ours.registry["authsite"].database.dispose()


def get(application, path, tokens):
    """A function that asks ``application`` for ``path`` with one of ``tokens``."""

    def call(number):
        token = tokens[number % len(tokens)]
        request(application, path, HTTP_AUTHORIZATION=f"Bearer {token}" if token else "")

    return call


def post(application, form, path=TOKEN, accepted=(200,)):
    """The answer of an OAuth endpoint to ``form``."""
    body = form.encode()
    return request(
        application,
        path,
        accepted=accepted,
        REQUEST_METHOD="POST",
        CONTENT_LENGTH=str(len(body)),
        CONTENT_TYPE="application/x-www-form-urlencoded",
        # As the bridge of ``authsite serve`` hands it over.
        **{"wsgi.input": BytesIO(body), "webob.is_body_seekable": True},
    )


def refresher(application, token, keys):
    """A function that refreshes, each time with the token of the answer before."""

    def call(_number):
        nonlocal token
        form = f"grant_type=refresh_token&refresh_token={token}{keys}"
        token = json.loads(post(application, form))["refresh_token"]

    return call


def request(application, path, *, accepted=(200,), **environ):
    """The body of the answer, which has to have one of the statuses ``accepted``."""
    path, _, query = path.partition("?")
    environ = {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost:80",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.version": (1, 0),
        "wsgi.input": BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **environ,
    }
    statuses = []
    body = b"".join(application(environ, lambda status, headers: statuses.append(status)))
    if int(statuses[-1].split()[0]) not in accepted:
        raise SystemExit(f"{path}: {statuses[0]}: {body!r}")
    return body


def weigh(calls):
    """Microseconds of CPU of one call, by name: the best of interleaved rounds."""
    seen = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            call(0)
            began = time.process_time()
            for number in range(CALLS):
                call(number)
            seen[name].append((time.process_time() - began) / CALLS * 1e6)
    return {name: min(times) for name, times in seen.items()}


def report(micros):
    """Print the table, as Markdown."""
    print("| what | µs of CPU | of the prototype |")
    print("|---|---|---|")
    for name, value in micros.items():
        print(f"| {name} | {value:.0f} | {value / micros['prototype of a guard']:.2f} |")


def profile(call):
    """Print the functions that take most of it."""
    call(0)
    watch = cProfile.Profile()
    watch.enable()
    for number in range(CALLS):
        call(number)
    watch.disable()
    pstats.Stats(watch).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
