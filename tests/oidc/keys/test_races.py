"""Several processes make or rotate signing keys at the same moment."""

import subprocess
import sys
from threading import Barrier, Thread

import pytest
from sqlalchemy import select

from authsite.oauth.oidc.keys.ring import ring_of
from authsite.oauth.oidc.keys.rotation import alone
from authsite.oauth.oidc.keys.scheduled import keep_keys
from authsite.oauth.oidc.keys.stored import SigningKey
from authsite.platform.runtime import clock
from tests.oidc.keys.conftest import ISSUER, another_process
from tests.support.site import SECRET

pytestmark = pytest.mark.both_databases(each_value=True)

PROCESS = """
import sys
from authsite.platform.context import make_services
from authsite.oauth.oidc.keys.ring import ring_of
from authsite.platform.settings import load
services = make_services(load({
    "authsite.secret": sys.argv[1], "authsite.database-url": sys.argv[2],
    "authsite.base-url": sys.argv[3],
}, {}), limits=False)
print("ready", flush=True)
sys.stdin.readline()
for key in ring_of(services).keys(services).keys:
    print(key.stored.kid, key.stored.state, key.is_unusable)
"""


def states(site):
    with site.db() as db:
        rows = db.scalars(select(SigningKey)).all()
    return sorted(
        (row.alg, "previous" if row.previous_at else "current" if row.current_at else "next")
        for row in rows
    )


def at_once(work, services):
    """Run ``work`` in a thread for each of the services, all at one moment."""
    barrier, results = Barrier(len(services)), []

    def run(own):
        barrier.wait()
        results.append(work(own))

    threads = [Thread(target=run, args=(each,)) for each in services]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == len(services)
    return results


def test_processes_that_need_the_first_keys_make_one_set(provider):
    processes = [another_process(provider) for _ in range(6)]
    found = at_once(lambda own: ring_of(own).keys(own).published(clock.now()), processes)
    assert all(each == found[0] for each in found)
    assert states(provider) == [
        (alg, state) for alg in ("ES256", "RS256") for state in ("current", "next")
    ]


def test_an_empty_list_is_not_cached(provider):
    """While another process makes the first keys, for longer than a request waits."""
    with alone(provider.database):
        answer = provider.http.get(f"{ISSUER}/.well-known/jwks.json")
    assert answer.json == {"keys": []}
    assert answer.headers["Cache-Control"] == "no-store"
    answer = provider.http.get(f"{ISSUER}/.well-known/jwks.json")
    assert len(answer.json["keys"]) == 4
    assert "max-age=3600" in answer.headers["Cache-Control"]


def test_processes_that_find_a_rotation_due_rotate_once(provider, frozen):
    processes = [another_process(provider) for _ in range(4)]
    keep_keys(processes[0])
    frozen.advance(91 * 86400)
    at_once(keep_keys, processes)
    assert states(provider) == [
        (alg, state) for alg in ("ES256", "RS256") for state in ("current", "next", "previous")
    ]


def test_two_processes_of_the_operating_system_make_one_set(provider):
    command = [sys.executable, "-c", PROCESS, SECRET, provider.url, ISSUER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for each in started:
        assert each.stdout.readline() == "ready\n"
    for each in started:
        each.stdin.write("go\n")
        each.stdin.flush()
    printed = [each.communicate(timeout=60)[0] for each in started]
    assert printed[0] == printed[1]
    assert sorted(line.split()[1] for line in printed[0].splitlines()) == [
        "current", "current", "next", "next",
    ]  # fmt: skip
    assert "True" not in printed[0]
    assert len(states(provider)) == 4
