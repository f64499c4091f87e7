"""R29: Patroni replaces one of three machines: a leader, and a synchronous standby."""

import signal
import time

import httpx

from authsite.platform.settings.rate_limits import RATE_LIMITS

from . import invariants
from .database import new_workers, outage, recovery
from .limits import ACCOUNT, recovered
from .machines import patroni, require
from .proxied import two_servers
from .rig import prepared
from .rows import limit, none
from .traffic import TOKEN, Traffic

TTL, LOOP_WAIT, SENDER = 20, 5, 10  # seconds, of docs/scaling.md; SENDER: wal_sender_timeout
# Fewer logins than in other runs: nine more processes use the cores.
RATES = {"guard": 26, "refresh": 10, "login": 2, "forgot": 0.5, "logout": 1}
BACK = 60  # seconds until the machine that was lost has to be a standby again
UNLOGGED = "SELECT relname FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r'"


def replaced(short):
    """R29: four times, each after the machine that was lost is a standby again."""
    require()
    loose = {f"limits.{name}": "100000/hour" for name in RATE_LIMITS}
    own = {"limits.login-account": f"{ACCOUNT}/60 minutes", "limits": "on"}
    with (
        prepared(patroni, **(loose | own)) as made,
        two_servers(made, **made.postgres.variables) as (port, _servers),
    ):
        lock(made)
        return [row for way in WAYS for row in _lost(made, port, way, short)]


def _killed(machine):
    machine.kill()


def _hangs(machine):
    machine.signal(signal.SIGSTOP)


def _cut_off(machine):
    for gate in machine.gates:
        gate.close()


def _started(machine):
    machine.start()


def _goes_on(machine):
    machine.signal(signal.SIGCONT)


def _reaches(machine):
    for gate in machine.gates:
        gate.open()


WAYS = (
    ("leader", "killed, with its machine", _killed, _started),
    ("leader", "hangs, with its machine", _hangs, _goes_on),
    ("leader", "cut off from etcd", _cut_off, _reaches),
    ("synchronous standby", "hangs, with its machine", _hangs, _goes_on),
)


def _lost(made, port, way, short):
    role, word, lose, restore = way
    machines = made.postgres
    machines.wait_until_safe()
    leads = role == "leader"
    former = machines.leader if leads else machines.synchronous
    others = [each for each in machines.machines if each is not former]
    workers = made.workers()
    with Traffic(port, made.client, made.sessions, rates=RATES) as traffic:
        time.sleep(4 if short else 15)
        begin = traffic.now()
        lose(former)
        (machines.wait_for_leader if leads else machines.wait_for_synchronous)(others)
        end = traffic.now()
        time.sleep(6 if short else 15)
        restore(former)  # under load: it must not be taken for the leader again
        back = machines.wait_until_safe()
        time.sleep(2 if short else 10)
    made.sessions = [{"access": s.access, "refresh": s.refresh} for s in traffic.sessions]
    done, most = f"{role} {word}", (TTL if leads else SENDER + LOOP_WAIT) + LOOP_WAIT
    # Without a standby a login ends at its COMMIT, 3 s after its password was hashed.
    rows = outage("R29", done, traffic, (begin, end), 3500 if leads else 4000)
    rows += [
        limit("R29", done, f"Patroni has another {role} after", most, end - begin, "s"),
        recovery("R29", done, traffic, end, 5, 5),
        limit("R29", done, "the machine is a standby again after", BACK, back, "s"),
        none("R29", done, "workers that restarted", new_workers(workers, made)),
        none("R29", done, "tables that are empty (UNLOGGED)", _unlogged(made)),
        none("R29", done, "lockouts that ended", int(not locked(made))),
        invariants.check("R29", made, traffic),
    ]
    return rows


def _unlogged(made):
    with made.postgres.connect() as connection:
        return [name for (name,) in connection.execute(UNLOGGED).fetchall()]


def lock(made):
    """Lock an account with wrong passwords."""
    statuses = {attempt(made, made.server) for _ in range(ACCOUNT)}
    if statuses != {400} or not locked(made):
        raise RuntimeError(f"wrong passwords got {statuses}, and did not lock the account")


def locked(made):
    """Whether the account that `lock` locked still is, for each of the servers."""
    recovered(made)
    return all(attempt(made, each) == 429 for each in (made.server, *made.others))


def attempt(made, server):
    """The status of a login with a wrong password."""
    form = {"grant_type": "password", "username": "eve@example.com", "password": "wrong 1"}
    url = str(server.base_url.join(TOKEN))
    return httpx.post(url, data=form | made.client, timeout=30).status_code
