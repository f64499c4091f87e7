"""docs/scaling.md: its files of etcd and Patroni are those that `make faults ONLY=R29` runs."""

import pytest
import yaml

from authsite.platform.settings.sources import unknown_variables
from authsite.platform.settings.urls import database_url
from bench.faults import machines, patroni
from bench.faults.machines import ETCD, NUMBERS, PATRONI, SETTINGS, Machine

KINDS = ("2379", "2380", "5432", "8008")
# What differs between three machines and three folders of one.
OWN_PATRONI = {
    "name",
    "restapi.listen",
    "restapi.connect_address",
    "etcd.hosts",
    "postgresql.listen",
    "postgresql.connect_address",
    "postgresql.data_dir",
    "postgresql.bin_dir",
    "postgresql.parameters.unix_socket_directories",
    "postgresql.pg_hba",
}
OWN_ETCD = {"NAME", "DATA_DIR", "INITIAL_CLUSTER"}


class Way:
    """A port through which Patroni reaches an etcd."""

    def __init__(self, port):
        self.port = port


@pytest.fixture
def three(tmp_path):
    ports = {
        (str(number), kind): 20_000 + 10 * number + place
        for number in NUMBERS
        for place, kind in enumerate(KINDS)
    }
    ways = [Way(30_000 + number) for number in NUMBERS]
    return [Machine(number, tmp_path / f"db{number}", ports, ways) for number in NUMBERS]


def flat(values, prefix=""):
    """The values of a nested dictionary by their paths."""
    found = {}
    for key, value in values.items():
        found |= (
            flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
        )
    return found


def test_each_value_of_the_page_is_in_the_run(three):
    shown = flat(yaml.safe_load(machines.documented()[PATRONI]))
    assert len(shown) > 20
    for machine in three:
        text = machine.rendered(PATRONI)
        used = flat(yaml.safe_load(text))
        assert used.keys() == shown.keys()
        assert {path for path in used if used[path] != shown[path]} <= OWN_PATRONI
        assert used["name"] == machine.name
        assert used["postgresql.listen"] == f"127.0.0.1:{machine.port('5432')}"
        assert used["restapi.connect_address"] == f"127.0.0.1:{machine.port('8008')}"
        assert len(used["postgresql.pg_hba"]) == len(shown["postgresql.pg_hba"])
        assert "10.0.0." not in text + machine.rendered(ETCD)


def test_each_line_of_etcd_is_in_the_run(three):
    def lines(text):
        return dict(line.removeprefix("ETCD_").split("=", 1) for line in text.splitlines())

    shown = lines(machines.documented()[ETCD])
    names, members = set(), set()
    for machine in three:
        used = lines(machine.rendered(ETCD))
        changed = {name for name in used if used[name] != shown[name]}
        assert used.keys() == shown.keys()
        assert changed <= OWN_ETCD | {name for name in used if name.endswith("_URLS")}
        own = f"{used['NAME']}={used['INITIAL_ADVERTISE_PEER_URLS']}"
        assert own in used["INITIAL_CLUSTER"].split(",")
        assert used["LISTEN_CLIENT_URLS"] == f"http://127.0.0.1:{machine.port('2379')}"
        names.add(used["NAME"])
        members.add(used["INITIAL_CLUSTER"])
    assert (len(names), len(members)) == (3, 1)


def test_the_times_are_those_that_patroni_allows_and_the_run_measures():
    """https://patroni.readthedocs.io/en/latest/dynamic_configuration.html"""
    times = yaml.safe_load(machines.documented()[PATRONI])["bootstrap"]["dcs"]
    assert times["loop_wait"] + 2 * times["retry_timeout"] <= times["ttl"]
    assert times["ttl"] >= 20
    assert times["retry_timeout"] >= 3
    assert (times["ttl"], times["loop_wait"]) == (patroni.TTL, patroni.LOOP_WAIT)
    assert times["synchronous_mode"] is True


def test_the_settings_of_the_page_have_the_role_and_all_three_hosts(three):
    shown = machines.documented()
    found = dict(line.split("=", 1) for line in three[0].rendered(SETTINGS).splitlines())
    assert unknown_variables(found) == []
    url = found["AUTHSITE_DATABASE_URL"]
    for machine in three:
        assert f"127.0.0.1:{machine.port('5432')}" in url
    assert "target_session_attrs=read-write" in database_url(url).reveal()
    password = url.partition("@")[0].rpartition(":")[2]
    assert f"PASSWORD '{password}'" in shown["sql"]
    # A refresh without an answer is repeated after the failover.
    assert int(found["AUTHSITE_REFRESH_GRACE"].removesuffix("s")) > patroni.TTL + patroni.LOOP_WAIT
