"""R30: an hour of everything at once, and another leader of the database every ten minutes."""

import statistics
import time
from contextlib import contextmanager
from itertools import cycle

import httpx

from authsite.platform.settings.rate_limits import RATE_LIMITS

from .. import machine
from . import invariants
from .everything import Everything, fill
from .machines import patroni, require
from .proxied import two_servers
from .rig import prepared, summary
from .rows import Row, limit, none
from .traffic import good, invalid, other_than_503

PERIODS, SECONDS, SHORT_SECONDS = 6, 600, 45
PAUSE = 20  # seconds until a machine that was killed is started again
GROWTH = 5  # MB that the largest worker may have more at the end than after two periods


def mixed(short):
    """R30: on two servers; in turns the leader hands over, and is lost with its machine."""
    require()
    loose = {f"limits.{name}": "1000000/hour" for name in RATE_LIMITS}
    with prepared(patroni, openid="on", admin_console="on", limits="on", **loose) as made:
        people = fill(made)
        with two_servers(made, **made.postgres.variables) as (port, _servers):
            return _run(made, people, port, short)


def _run(made, people, port, short):
    workers, memory, changes = set(made.workers()), [], []
    ways = cycle((_hands_over, _killed))
    with Everything(port, made.client, made.sessions, people) as traffic:
        for _ in range(2 if short else PERIODS):
            time.sleep(SHORT_SECONDS if short else SECONDS)
            memory.append(max(machine.largest_worker(each.pid) for each in _processes(made)))
            changes.append(_changed(made.postgres, traffic, next(ways)))
        time.sleep(20 if short else 60)
    began_again = set(made.workers()) - workers
    return [*_rows(made, traffic, changes, memory, len(began_again)), *_lost(port, traffic)]


def _processes(made):
    return [each.process for each in (made.server, *made.others)]


def _changed(machines, traffic, way):
    """When the way began, and when another machine led, in seconds since the start."""
    machines.wait_until_safe()
    former, begin = machines.leader, traffic.now()
    with way(machines, former):
        machines.wait_for_leader([each for each in machines.machines if each is not former])
        end = traffic.now()
    return begin, end


@contextmanager
def _hands_over(machines, former):
    names = {"leader": former.name, "candidate": machines.synchronous.name}
    url = f"http://127.0.0.1:{former.port('8008')}/switchover"
    httpx.post(url, json=names, timeout=60).raise_for_status()
    yield


@contextmanager
def _killed(_machines, former):
    former.kill()
    yield
    time.sleep(PAUSE)
    former.start()


def _rows(made, traffic, changes, memory, began_again):
    done = f"{len(changes)} leaders in turn hand over, or are killed"
    ends = [begin for begin, _ in changes[1:]] + [float("inf")]
    back = [
        max((a.at for a in _failed(traffic) if a.at >= end and a.end < until), default=end) - end
        for (_, end), until in zip(changes, ends, strict=True)
    ]  # what is under way when the next change begins belongs to that one
    without = sum(end - begin for begin, end in changes)
    kinds = [f"{kind}: {summary(_of(traffic, kind))}" for kind in traffic.rates]
    return [
        none("R30", done, f"failures other than 503 ({'; '.join(kinds)})", _wrong(traffic)),
        none("R30", done, "valid tokens called invalid", invalid(traffic.answers)),
        limit("R30", done, f"all good after a new leader ({without:.0f} s without one in all)", 5,
              max(back), "s"),
        none("R30", done, "workers that restarted", began_again),
        _memory(done, memory),
        invariants.check("R30", made, traffic),
    ]  # fmt: skip


def _failed(traffic):
    return [answer for answer in traffic.answers if not good(answer)]


def _wrong(traffic):
    return other_than_503(_failed(traffic))


def _of(traffic, kind):
    return [answer for answer in traffic.answers if answer.kind == kind]


def _memory(done, memory):
    """After two periods every cache is full."""
    early, late = statistics.median(memory[1:3]), memory[-1]
    shown = ", ".join(f"{each:.0f}" for each in memory)
    target = f"largest worker at most {GROWTH} MB larger than after two periods"
    return Row("R30", done, target, f"{shown} MB", late <= early + GROWTH)


def _lost(port, traffic):
    """The tokens of exchanges that were answered, asked for once more at the end."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:

        def is_valid(token):
            header = {"Authorization": f"Bearer {token}", "Host": "localhost"}
            return client.get("/v1/oauth/userinfo", headers=header).status_code == 200

        lost = [token for token in traffic.of_codes if not is_valid(token)]
    yield none(
        "R30", "after the run", f"of {len(traffic.of_codes)} tokens of codes lost", len(lost)
    )
