"""R24: the service starts before its database, and with a setting that is wrong."""

import os
import subprocess
import sys
import time

import httpx

from .rig import prepared, serve
from .rows import Row, limit, none


def without_database(_short):
    """R24: start without PostgreSQL, then start PostgreSQL; and start with a wrong setting."""
    done = "started without PostgreSQL, which started 5 s later"
    with prepared() as made:
        made.postgres.stop()
        began = time.monotonic()
        with serve(made):
            started = time.monotonic() - began - 1
            ready = f"{made.server.base_url}/readyz"
            bearer = {"Authorization": f"Bearer {made.sessions[0]['access']}"}
            with httpx.Client(base_url=made.server.base_url, headers=bearer) as client:
                answers = [client.get("/v1/user") for _ in range(20)]
                statuses = [answer.status_code for answer in answers]
                not_ready = httpx.get(ready).status_code
                time.sleep(4)
                made.postgres.start()
                back = time.monotonic()
                while client.get("/v1/user").status_code != 200:
                    time.sleep(0.02)
                again = time.monotonic() - back
                is_ready = httpx.get(ready).status_code
    wrong = [status for status in statuses if status != 503]
    slowest = 1000 * max(answer.elapsed.total_seconds() for answer in answers)
    states = f"{not_ready}, then {is_ready}"
    return [
        limit("R24", done, "started within", 15, started, "s"),
        none("R24", done, "answers other than 503 until then", wrong),
        limit("R24", done, "longest of these answers", 3500, slowest),
        Row("R24", done, "`/readyz` 503, then 200", states, states == "503, then 200"),
        limit("R24", done, "serves after the return within", 5, again, "s"),
        misconfigured(),
    ]


def misconfigured():
    """A wrong setting: the command ends at once and names the key."""
    command = [sys.executable, "-m", "authsite", "serve", "--config", "development.ini"]
    own = {"AUTHSITE_ENV_FILE": os.devnull, "AUTHSITE_REFRESH_GRACE": "soon"}
    began = time.monotonic()
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True)
    seconds = time.monotonic() - began
    named = "refresh-grace" in (done.stdout + done.stderr).lower().replace("_", "-")
    figure = f"status {done.returncode} after {seconds:.1f} s, key {'' if named else 'not '}named"
    met = done.returncode != 0 and seconds <= 2 and named
    return Row("R24", "started with a wrong `refresh-grace`",
               "ends ≤ 2 s with the key's name", figure, met)  # fmt: skip
