"""Renamed events: rows of before keep their names, and every reader knows both."""

import ast
import json
from pathlib import Path

import pytest

import authsite as package
from authsite.platform.audit.events import FORMER_NAMES, Event
from authsite.platform.audit.service import record
from tests.support import databases
from tests.support.acting import acting
from tests.support.pages import sign_in
from tests.support.servers import authsite, write_ini
from tests.support.site import Site


@pytest.fixture
def upgraded(fresh_url):
    """A site whose database a version with the former names has made."""
    site = Site(databases.upgraded(fresh_url, "0013"))
    yield site
    site.database.dispose()


def test_each_renamed_event_has_its_former_name_until_the_upgrade_is_finished(upgraded, tmp_path):
    ini = write_ini(tmp_path, upgraded.url)
    ann = upgraded.user()

    def record_each():
        services = upgraded.app.registry["authsite"]
        with upgraded.db() as db:
            for event in FORMER_NAMES:
                record(acting(db, services=services, request_id="both"), event, user_id=ann.id)
        return upgraded.events()[-len(FORMER_NAMES) :]

    assert record_each() == list(FORMER_NAMES.values())
    done = authsite("db", "upgrade", "--finish", ini=ini)
    assert (done.returncode, done.stderr) == (0, "")
    assert record_each() == [event.value for event in FORMER_NAMES]

    for event, former in FORMER_NAMES.items():
        for wanted in (event, former):
            listed = authsite("audit", "list", "--event", wanted, "--json", ini=ini).stdout
            assert [each["event"] for each in json.loads(listed)["events"]] == [former, event]
    explained = authsite("explain", "both", ini=ini).stdout
    for event in FORMER_NAMES:
        assert explained.count(event.meaning) == 2
    sign_in(upgraded)
    page = upgraded.http.get("/account/activity").text
    for words in ("Sign-in blocked for some minutes", "Link to reset the password requested"):
        assert page.count(words) == 2
    verified = authsite("audit", "verify", ini=ini)
    assert (verified.returncode, verified.stderr) == (0, "")


def test_a_former_name_is_that_of_one_event_and_of_no_other():
    names = [name for event in Event for name in event.names]
    assert len(names) == len(set(names))
    assert all(Event.of(name) is event for event in Event for name in event.names)


def test_no_comparison_reads_a_renamed_event_by_one_of_its_names():
    """`names_of` has both."""
    renamed = {event.name for event in FORMER_NAMES} | {n for e in FORMER_NAMES for n in e.names}
    found = []
    for path in Path(package.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            compares = isinstance(node, ast.Compare) or (
                isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "in_"
            )
            if compares:
                named = {getattr(x, "attr", getattr(x, "value", None)) for x in ast.walk(node)}
                found += [(path.name, node.lineno) for name in renamed if name in named]
    assert found == []
