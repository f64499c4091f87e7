"""Measures authsite, on Granian with two workers and PostgreSQL, for the peers' program.

That program imports this file by name and calls `main`; ``benchlib`` is its own.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchlib import HOME, PORT, Server, expect, measure, pg_recreate, pg_url, storm

OURS = os.environ["BENCH_PYTHON"]  # the Python that has authsite; this one has not
WORKERS = 2
TOKEN, INTROSPECT = "/v1/oauth/token", "/v1/oauth/introspect"
CACHED = "guard-cache"  # rows with this setting at 1s
POOLS = 16  # of refresh tokens: each run spends one, and runs that were disturbed are repeated


def main(parts):
    """The rows of authsite, by name; ``parts``: the names wanted (None: all)."""
    folder = HOME / "authsite"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pg_recreate("authsite")
    filled = subprocess.run(
        [OURS, "-m", "bench.peers.fill", folder, pg_url("authsite"), str(POOLS)],
        check=True,
        stdout=subprocess.PIPE,
    )
    files = json.loads(filled.stdout)
    rows = {}
    for name, (program, job) in jobs(files, folder / "used").items():
        if parts and name not in parts:
            continue
        environment = {
            "AUTHSITE_ENV_FILE": os.devnull,
            "AUTHSITE_CONFIG": files["cached" if CACHED in name else "ini"],
            "BENCH_DATABASE_URL": pg_url("authsite"),
        }
        with Server([OURS, *program], env=environment, settle=2) as server:
            rows[name] = job(server)
        print(name, rows[name], file=sys.stderr, flush=True)
    return rows


def jobs(files, used):
    """Name -> (what is served, what is measured on it)."""
    pools = iter(files["refresh"])
    ours = ["-m", "authsite", "serve", "--port", PORT, "--workers", WORKERS]
    bearer = "Bearer " + Path(files["access"]).read_text().split()[0]

    def rival(name):
        return ["-m", "bench.serve", name, PORT, WORKERS]

    def guarded(path, status, *, filled=False):
        """``filled``: a run before shows each token to each process."""

        def job(server):
            expect(status, "GET", path, headers={"Authorization": bearer})
            expect(401, "GET", path, headers={"Authorization": bearer + "x"})
            environment = {"WRK_PATH": path, "WRK_TOKENS": files["access"]}
            if filled:
                measure("bearer", environment, duration=6, runs=1, warm=0)
            return measure("bearer", environment, server=server)

        return job

    def prototype(server):
        environment = {"WRK_PATH": "/", "WRK_TOKENS": files["prototype"]}
        return measure("bearer", environment, server=server)

    def page(path):
        return lambda server: measure("get", {"WRK_PATH": path}, server=server)

    def token(kind, path=TOKEN, **options):
        environment = {"WRK_PATH": path, "WRK_BODIES": files[kind]}
        return lambda server: measure("post", environment, server=server, **options)

    def refresh(server):
        environment = {"WRK_PATH": TOKEN, "WRK_TOKENS": used, "WRK_BODY": files["keys"]}
        return measure(
            "refresh", environment, server=server, before=lambda: shutil.copy(next(pools), used)
        )

    def logins(server):
        environment = {"WRK_PATH": "/v1/user", "WRK_TOKENS": files["access"]}
        post = {"WRK_PATH": TOKEN, "WRK_BODIES": files["password"]}
        return storm("bearer", environment, "post", post, server=server)

    return {
        "bare JSON view": (rival("bare"), page("/")),
        "prototype of a guard": (rival("prototype"), prototype),
        "bare JSON view on our server": (rival("bridged"), page("/")),
        "GET /v1/user": (ours, guarded("/v1/user", 200)),
        "forward auth": (ours, guarded("/v1/guard/api", 204)),
        "forward auth with guard-cache": (ours, guarded("/v1/guard/api", 204, filled=True)),
        "a host's guarded view": (rival("guarded"), guarded("/", 200)),
        "a host's guarded view with guard-cache": (
            rival("guarded"),
            guarded("/", 200, filled=True),
        ),
        "introspection": (ours, token("introspection", INTROSPECT)),
        "client credentials": (ours, token("credentials")),
        "refresh": (ours, refresh),
        "password at bcrypt cost 12": (ours, token("password", conns=8, duration=12)),
        "login page": (ours, page("/login")),
        "login storm": (ours, logins),
    }
