"""R8: Redis, in which the limits are counted, is killed or hangs."""

import tempfile
import time
from pathlib import Path

import httpx

from authsite.platform.settings.rate_limits import RATE_LIMITS
from tests.support import redis

from . import invariants
from .rig import WORKERS, rig, summary
from .rows import limit, none
from .traffic import TOKEN, good

ACCOUNT = 20  # wrong passwords for one name; of right ones, as many are checked at a time
# A forgotten password asks the limits and hashes nothing, so its time shows a wait for Redis.
RATES = {"guard": 26, "refresh": 10, "login": 2, "forgot": 10, "logout": 1}
SLOW = 0.1  # seconds


def without_redis(short):
    """R8: killed, and started again; stopped, and continued."""
    return [row for how in ("killed", "stopped (SIGSTOP)") for row in _one(how, short)]


def _one(how, short):
    loose = {f"limits.{name}": "100000/hour" for name in RATE_LIMITS}
    own = {"limits.login-account": f"{ACCOUNT}/5 minutes", "limits": "on"}
    with (
        tempfile.TemporaryDirectory(prefix="authsite-faults-") as name,
        redis.serving(Path(name)) as server,
        rig(limits_storage=server.url, **(loose | own)) as made,
    ):
        with made.traffic(rates=RATES) as traffic:
            time.sleep(3 if short else 10)
            begin = traffic.now()
            server.kill() if how == "killed" else server.freeze()
            time.sleep(2)
            tried = attempts(made)
            time.sleep(3 if short else 15)
            end = traffic.now()
            server.start() if how == "killed" else server.thaw()
            back = recovered(made)
            time.sleep(3)
        done = f"Redis {how}"
        answers = traffic.during(begin, end)
        slow = [a for a in answers if a.kind == "forgot" and a.seconds > SLOW]
        failed = [a for a in traffic.answers if not good(a)]
        return [
            none("R8", done, f"failures ({summary(answers)})", len(failed)),
            limit("R8", done, "forgotten passwords slower than 100 ms", WORKERS, len(slow), ""),
            limit(
                "R8", done, f"wrong passwords until 429 (limit {ACCOUNT})", 2 * ACCOUNT, tried, ""
            ),
            limit("R8", done, "Redis is used again by all workers after", 10, back, "s"),
            invariants.check("R8", made, traffic),
        ]


def attempts(made):
    """How many wrong passwords for one name are checked; each on a separate connection."""
    statuses = []
    for _attempt in range(4 * ACCOUNT):
        form = {"grant_type": "password", "username": "eve@example.com", "password": "wrong 1"}
        url = str(made.server.base_url.join(TOKEN))
        statuses.append(httpx.post(url, data=form | made.client, timeout=30).status_code)
    return statuses.count(400)


def recovered(made, seconds=30):
    """After how many seconds each worker that had noticed the failure uses Redis again."""
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        log = made.log()
        if log.count("limits_storage_recovered") >= log.count("limits_storage_failed"):
            return time.monotonic() - began
        time.sleep(0.1)
    return float(seconds)
