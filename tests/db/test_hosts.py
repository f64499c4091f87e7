"""Several hosts of PostgreSQL in `database-url`: the one that accepts writes is used."""

import time
from types import SimpleNamespace

import pytest

from authsite.platform.db import migrate, open_database
from authsite.platform.db.engine import Hosts
from authsite.platform.settings.urls import database_url
from authsite.platform.tasks.background import Lock, held, own_connection
from tests.support import databases
from tests.support.postgres import NAME
from tests.support.servers import authsite, write_ini
from tests.support.site import WEB, Site
from tests.support.standbys import replicated


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            "postgres://ann:pw@first,second:5433/db",
            "postgresql://ann:pw@/db?host=first&host=second:5433&target_session_attrs=read-write",
        ),
        (
            "postgresql://ann@first,second/db?target_session_attrs=any&sslmode=require",
            "postgresql://ann@/db?host=first&host=second&target_session_attrs=any&sslmode=require",
        ),
        ("postgresql://ann:a,b@first/db", "postgresql://ann:a,b@first/db"),
        (
            "postgresql://first/db?application_name=a,b",
            "postgresql://first/db?application_name=a,b",
        ),
    ],
)
def test_several_hosts_are_given_as_for_libpq(given, wanted):
    assert database_url(given).reveal() == wanted


def test_the_host_that_answered_last_is_first_and_one_that_does_not_answer_last():
    hosts, options = Hosts(), {"host": "a,b,c", "port": "5432", "dbname": "x"}

    def order():
        return hosts.ordered(options)["host"].replace(",", "")

    def connection(host):
        return SimpleNamespace(info=SimpleNamespace(host=host, port=5432))

    def connected(host):
        return hosts.note(connection(host))

    assert order() == "abc"
    assert connected("b") is False
    assert order() == "bac"
    assert connected("b") is False
    hosts.note_unresponsive()
    assert order() == "acb"
    hosts.note_unresponsive()  # no other host has answered since
    assert order() == "acb"
    assert not hosts.is_former(connection("b"))  # the breaker is open, nothing is known of others
    assert connected("c") is False  # the breaker has closed the connections to b
    assert order() == "cab"
    assert hosts.is_former(connection("b"))
    assert not hosts.is_former(connection("c"))
    assert connected("b") is True
    assert order() == "bac"
    hosts.note_unresponsive()
    connected("b")
    assert order() == "bac"


@pytest.fixture
def servers():
    with replicated() as made:
        yield made


def url_of(first, second):
    return f"postgresql://{NAME}@127.0.0.1:{first.port},127.0.0.1:{second.port}/{NAME}"


@pytest.mark.slow
def test_everything_that_connects_finds_the_primary(servers, tmp_path):
    primary, standby = servers
    url = url_of(standby, primary)  # the standby would be the first to answer
    site = Site(url, **WEB)
    keys = site.first_party("web")
    site.user()
    site.refresh(keys, site.login(keys)["refresh_token"])
    with own_connection(site.database) as connection, held(connection, Lock.LEADER) as acquired:
        assert acquired
    site.database.dispose()
    database = open_database(database_url(url).reveal())
    migrate.upgrade(database)
    database.dispose()
    ini = write_ini(tmp_path, url)
    assert "reachable, schema" in authsite("doctor", "--verbose", ini=ini).stdout
    assert authsite("db", "upgrade", ini=ini).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["stops", "hangs"])
def test_after_a_promotion_the_same_process_goes_on_with_the_standby(servers, lost):
    primary, standby = servers
    site = Site(url_of(primary, standby), **WEB)
    databases.empty(site.database)
    keys = site.first_party("web")
    site.user()
    tokens = site.login(keys)
    primary.wait_for_standby()
    primary.stop() if lost == "stops" else primary.freeze()
    header = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert site.http.get("/v1/user", headers=header, status="*").status_int == 503
    if lost == "hangs":
        ports = {"host": "127.0.0.1,127.0.0.1", "port": f"{primary.port},{standby.port}"}
        tried = site.database.hosts.ordered(ports)["port"]
        assert tried == f"{standby.port},{primary.port}"
    standby.promote()
    deadline = time.monotonic() + 10
    while site.http.get("/v1/user", headers=header, status="*").status_int != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    site.refresh(keys, tokens["refresh_token"])
    site.database.dispose()
