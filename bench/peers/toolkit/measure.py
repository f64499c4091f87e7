"""Measures the exchange of codes and userinfo, on the installation of the peer ``dot``."""

import base64
import os
import subprocess
import sys
from pathlib import Path

from benchlib import DURATION, HERE, HOME, PG_PORT, PORT, VENV, Server, expect, measure, pg_recreate

BIN, OURS = VENV / "dot" / "bin", Path(__file__).parent
TOKEN, USERINFO = "/o/token/", "/o/userinfo/"
AUTH = "Basic " + base64.b64encode(b"web:secretsecret").decode()
CODES_PER_SECOND = 1000  # more than a run can use
WAYS = {
    "gthread 2w x 4t": ["-k", "gthread", "-w", 2, "--threads", 4],
    "sync 2w": ["-k", "sync", "-w", 2],
}


def main(parts):
    """The rows by name; without middleware, which is its fastest configuration."""
    pg_recreate("dot")
    key = subprocess.run(
        ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    environment = {
        "PG_PORT": str(PG_PORT),
        "DOT_HASHER": "bcrypt",
        "DOT_LEAN": "1",
        "DOT_KEY": key,
        "DJANGO_SETTINGS_MODULE": "settings",
        "PYTHONPATH": f"{OURS}{os.pathsep}{HERE / 'dot'}",
    }
    _fill(environment)
    rows = {}
    for way, options in WAYS.items():
        if parts and way not in parts:
            continue
        program = [BIN / "gunicorn", "-b", f"127.0.0.1:{PORT}", "--log-level", "warning"]
        serve = [*program, *options, "dotproj.wsgi"]
        with Server(serve, cwd=OURS, env=environment, settle=2) as server:
            rows |= _measure(way, server, environment)
    return rows


def _measure(way, server, environment):
    _fill(environment, 2)
    file = HOME / "codes.toolkit"
    body = file.read_text().split()[0]
    answer = expect(200, "POST", TOKEN, body, {"Authorization": AUTH})
    if '"id_token"' not in answer:
        raise RuntimeError(f"no ID token: {answer}")
    expect(400, "POST", TOKEN, body, {"Authorization": AUTH})
    what = {"WRK_PATH": TOKEN, "WRK_AUTH": AUTH, "WRK_BODIES": file}
    exchange = measure(
        "once",
        what,
        server=server,
        before=lambda: _fill(environment, CODES_PER_SECOND * DURATION),
    )
    tokens = HOME / "tokens.toolkit"
    bearer = {"Authorization": "Bearer " + tokens.read_text().split()[0]}
    if '"email"' not in expect(200, "GET", USERINFO, headers=bearer):
        raise RuntimeError("userinfo has no address")
    userinfo = measure("bearer", {"WRK_PATH": USERINFO, "WRK_TOKENS": tokens}, server=server)
    rows = {f"{way}: code exchange": exchange, f"{way}: userinfo": userinfo}
    for name, row in rows.items():
        print(name, row, file=sys.stderr, flush=True)
    return rows


def _fill(environment, *count):
    subprocess.run(
        [BIN / "python", OURS / "fill.py", HOME, *map(str, count)],
        cwd=OURS,
        check=True,
        env={**os.environ, **environment},
    )
