"""Measures authsite, on Granian with two workers and PostgreSQL, for the peers' program.

That program imports this file by name and calls `main`; ``benchlib`` is its own.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchlib import DURATION, HOME, PORT, Server, expect, measure, pg_recreate, pg_url, storm

from .app_code import code
from .logins import logins as log_in

OURS = os.environ["BENCH_PYTHON"]  # the Python that has authsite; this one has not
WORKERS = 2
TOKEN, INTROSPECT = "/v1/oauth/token", "/v1/oauth/introspect"
USERINFO = "/v1/oauth/userinfo"
CACHED = "guard-cache"  # rows with this setting at 1s
GROUP = "ops"  # of sign_ins.py
CODES_PER_SECOND = 2500  # more than a run can use
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
    files, rows = json.loads(filled.stdout), {}
    base = f"http://localhost:{PORT}"
    with Made(folder, pg_url("authsite"), base) as made:
        for name, (program, job) in jobs(files, folder / "used", made).items():
            if parts and name not in parts:
                continue
            environment = {
                "AUTHSITE_ENV_FILE": os.devnull,
                "AUTHSITE_CONFIG": files["cached" if CACHED in name else "ini"],
                "BENCH_DATABASE_URL": pg_url("authsite"),
            }
            if name in ("code exchange", "userinfo"):
                environment |= {"AUTHSITE_OPENID": "on", "AUTHSITE_BASE_URL": base}
            with Server([OURS, *program], env=environment, settle=2) as server:
                rows[name] = job(server)
            print(name, rows[name], file=sys.stderr, flush=True)
    return rows


class Made:
    """The program of ``sign_ins.py``, which makes what works once."""

    def __init__(self, *arguments):
        self.program = subprocess.Popen(
            [OURS, "-m", "bench.peers.sign_ins", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.files = json.loads(self.program.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.program.stdin.close()
        self.program.wait(30)

    def make(self, count):
        """The path of a file of ``count`` new exchanges of codes."""
        self.program.stdin.write(f"{count}\n")
        self.program.stdin.flush()
        return self.program.stdout.readline().strip()


def jobs(files, used, made):
    """Name -> (what is served, what is measured on it)."""
    pools = iter(files["refresh"])
    ours = ["-m", "authsite", "serve", "--port", PORT, "--workers", WORKERS]

    def rival(name):
        return ["-m", "bench.serve", name, PORT, WORKERS]

    def guarded(path, status, *, filled=False, tokens=files["access"]):
        """``filled``: a run before shows each token to each process."""
        bearer = "Bearer " + Path(tokens).read_text().split()[0]

        def job(server):
            expect(status, "GET", path, headers={"Authorization": bearer})
            expect(401, "GET", path, headers={"Authorization": bearer + "x"})
            environment = {"WRK_PATH": path, "WRK_TOKENS": tokens}
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

    def exchange(server):
        """Each run has its own codes, as many as it can need."""
        count, file = CODES_PER_SECOND * DURATION, made.make(2)
        body = Path(file).read_text().split()[0]
        answer = expect(200, "POST", TOKEN, body)
        if '"id_token"' not in answer:
            raise RuntimeError(f"no ID token: {answer}")
        expect(400, "POST", TOKEN, body)
        environment = {"WRK_PATH": TOKEN, "WRK_BODIES": file}
        return measure("once", environment, server=server, before=lambda: made.make(count))

    def with_app(server):
        """Both proofs in one request; each login of another user, since a code counts once."""
        turns, form = itertools.count(), made.files["login"]

        def login(send):
            user = f"app.person{next(turns) % made.files['with_app']}%40example.com"
            answer = send("POST", TOKEN, f"{form}&username={user}&otp={code()}")
            if answer.status == 503:  # more passwords at once than the cores can hash
                return None
            return answer.status == 200 and b"access_token" in answer.body

        return log_in(login, server)

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
        "forward auth with a group": (
            ours,
            guarded(f"/v1/guard/api?group={GROUP}", 204, tokens=made.files["members"]),
        ),
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
        "code exchange": (ours, exchange),
        "userinfo": (ours, guarded(USERINFO, 200, tokens=made.files["tokens"])),
        "login with TOTP": (ours, with_app),
        "login page": (ours, page("/login")),
        "login storm": (ours, logins),
    }
