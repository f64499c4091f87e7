"""The health for administrators: what doctor finds, tasks, queues, versions."""

import pytest
from sqlalchemy import update

from authsite.admin.health import service
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime.counters import TASK_SUCCESS
from authsite.users.models import User
from tests.support import administrators
from tests.support.mails import put

HEALTH = "/v1/admin/health"


@pytest.fixture(autouse=True)
def fresh(site):
    """Other tests have the same application."""
    service.HEALTH.of(site.app.registry["authsite"])["health"].forget()


@pytest.fixture
def reader(site):
    return administrators.client(site, "admin:health:read")


@pytest.mark.both_databases
def test_it_has_findings_queues_and_versions(site, reader):
    put(site)
    put(site)
    with site.db() as db:
        db.execute(update(OutboxMessage).values(state="waiting"))
    shown = site.http.get(HEALTH, headers=reader).json
    subjects = {each["subject"]: each["state"] for each in shown["findings"]}
    assert subjects["database-url"] == "ok"
    assert subjects["clients.web.id"] == "wrong"  # no client is registered for it
    states = [service.STATES.index(each["state"]) for each in shown["findings"]]
    assert states == sorted(states)
    queues = {each["name"]: each["number"] for each in shown["queues"]}
    assert queues["mails that wait"] == 2
    assert queues["mails that failed for good"] == 0
    assert {"authsite", "Python", "schema", site.database.autocommit.dialect.name} <= set(
        shown["versions"]
    )


def test_it_is_read_again_after_a_minute_only(site, reader):
    first = site.http.get(HEALTH, headers=reader).json
    put(site)
    again = site.http.get(HEALTH, headers=reader).json
    assert again == first
    service.HEALTH.of(site.app.registry["authsite"])["health"].forget()
    later = site.http.get(HEALTH, headers=reader).json
    assert later["queues"] != first["queues"]


def test_a_task_is_shown_with_its_last_success(site, reader):
    TASK_SUCCESS.begin("cleanup")
    waiting = site.http.get(HEALTH, headers=reader).json["tasks"]
    assert {each["name"]: each["last_success_at"] for each in waiting}["cleanup"] is None
    TASK_SUCCESS.note("cleanup")
    service.HEALTH.of(site.app.registry["authsite"])["health"].forget()
    tasks = site.http.get(HEALTH, headers=reader).json["tasks"]
    assert {each["name"]: each["last_success_at"] for each in tasks}["cleanup"]


def test_the_page_has_the_findings(site):
    administrators.signed_in(site, "viewer")
    page = site.http.get("/admin/health").html
    captions = [each.get_text(strip=True) for each in page.find_all("caption")]
    assert captions[0] == "Checks"
    rows = page.find("table").find_all("tr")[1:]
    assert "clients.web.id" in rows[0].get_text()
    assert "bad" in rows[0].find(class_="badge")["class"]


def test_without_a_role_there_is_nothing(site):
    administrators.signed_in(site, "viewer")
    with site.db() as db:
        db.execute(update(User).values(labels=None))
    site.http.get("/admin/health", status=403)
