"""Measures django-allauth; its environment is made at the first use."""

import base64
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

from benchlib import PG_PORT, PORT, VENV, Server, pg_recreate

from ..app_code import KEY, code
from ..logins import JSON, logins

BIN, OURS = VENV / "allauth" / "bin", Path(__file__).parent
PEOPLE = 1000
LOGIN, SECOND = "/_allauth/app/v1/auth/login", "/_allauth/app/v1/auth/2fa/authenticate"
PROGRAM = (BIN / "gunicorn", "-b", f"127.0.0.1:{PORT}", "--log-level", "warning")
WAYS = {
    "gthread 2w x 4t": ["-k", "gthread", "-w", 2, "--threads", 4],
    "sync 2w": ["-k", "sync", "-w", 2],
}


def main(parts):
    """The rows by name."""
    if not BIN.exists():
        subprocess.run([sys.executable, "-m", "venv", BIN.parent], check=True)
        install = [BIN / "pip", "install", "-q", "-r", OURS / "requirements.txt"]
        subprocess.run(install, check=True)
    pg_recreate("allauth")
    environment = {
        "PG_PORT": str(PG_PORT),
        "DJANGO_SETTINGS_MODULE": "settings",
        "PYTHONPATH": str(OURS),
    }
    subprocess.run(
        [BIN / "python", "fill.py", base64.b32encode(KEY).decode(), str(PEOPLE)],
        cwd=OURS,
        check=True,
        env={**os.environ, **environment},
    )
    turns, rows = itertools.count(), {}
    for way, options in WAYS.items():
        if parts and way not in parts:
            continue
        with Server([*PROGRAM, *options, "wsgi"], cwd=OURS, env=environment, settle=2) as server:
            name = f"{way}: login with TOTP"
            rows[name] = logins(lambda send: log_in(send, next(turns)), server)
        print(name, rows[name], file=sys.stderr, flush=True)
    return rows


def log_in(send, turn):
    """Both steps; whether the second one signed in."""
    given = {"username": f"app{turn % PEOPLE}", "password": "correct horse battery"}
    answer = send("POST", LOGIN, json.dumps(given), kind=JSON)
    session = json.loads(answer.body).get("meta", {}).get("session_token")
    if answer.status != 401 or not session:
        return False
    answer = send("POST", SECOND, json.dumps({"code": code()}), kind=JSON, X_Session_Token=session)
    return answer.status == 200
