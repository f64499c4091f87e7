"""The limits hold over processes: many wrong logins at once, sent to two servers (R21)."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.conftest import need
from tests.support import databases, redis
from tests.support.extent import volume
from tests.support.servers import serving, write_ini
from tests.support.site import WEB, Site

LIMIT = 10
LOGINS = volume(60, 200)
LIMITS = {
    "limits": "on",
    "limits.login-account": f"{LIMIT}/5 minutes",
    "limits.login-address": "9999/minute",
}


@pytest.fixture
def servers(fresh_url, tmp_path):
    """A factory: two servers on one database with Ann in it, and a `Site` to look inside."""
    with ExitStack() as stack:

        def two(**settings):
            url = databases.migrated(fresh_url)
            site = Site(url, **WEB)
            stack.callback(site.database.dispose)
            site.user()
            site.first_party("web")
            ini = write_ini(tmp_path, url, **LIMITS, **WEB, **settings)
            return site, [stack.enter_context(serving(ini)) for _ in range(2)]

        yield two


def wrong_login(server, keys, number):
    """One wrong login; ``number`` chooses one of the three paths. Returns the status."""
    form = {"username": "ann@example.com", "password": "not this one"}
    path = ("oauth/token", "clients/web/login", "clients/web/users/login")[number % 3]
    if path == "oauth/token":
        form = keys.form(grant_type="password", **form)
    return server.post(f"/v1/{path}", data=form).status_code


def storm(servers, keys):
    """Wrong logins at once by all paths; how often each status was answered."""
    with ThreadPoolExecutor(32) as pool:
        return Counter(
            pool.map(lambda number: wrong_login(servers[number % 2], keys, number), range(LOGINS))
        )


def check(site, servers, most):
    """At most ``most`` passwords are looked at; each leaves a record and is answered with 400.

    A busy machine refuses some of the storm for want of hash capacity (503). Such a login does not
    count. So single logins follow, until each server answers with 429.
    """
    keys = site.client()
    seen = storm(servers, keys)
    assert sum(seen.values()) == LOGINS
    assert set(seen) <= {400, 429, 503}
    for server in servers:
        while (status := wrong_login(server, keys, 0)) != 429:
            assert status == 400
            seen[400] += 1
            assert seen[400] <= most
    assert 1 <= seen[400] <= most
    # One more for the closed account, once an hour for each address, where it is counted.
    assert 0 <= site.events().count("login.failed") - seen[400] <= most // LIMIT


@pytest.mark.slow
@pytest.mark.both_databases
@pytest.mark.control("L07")
def test_of_many_wrong_logins_at_once_over_two_servers_10_are_hashed(servers):
    site, both = servers()
    check(site, both, LIMIT)


@pytest.mark.slow
@pytest.mark.control("L07")
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # the counters are in Redis
def test_with_redis_as_well(servers, tmp_path):
    need(redis.available(), "redis-server")
    with redis.serving(tmp_path) as server:
        site, both = servers(**{"limits-storage": f"{server.url}?socket_timeout=5"})
        check(site, both, LIMIT)


@pytest.mark.slow
@pytest.mark.control("L14")
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_when_redis_dies_before_it_every_server_counts_for_itself(servers, tmp_path, fault):
    need(redis.available(), "redis-server")
    with redis.serving(tmp_path) as server:
        site, both = servers(**{"limits-storage": server.url})
        getattr(server, fault)()
        check(site, both, 2 * LIMIT)
