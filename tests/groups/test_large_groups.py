"""A change of a large group: the background task applies it to the members."""

import os
import threading

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.groups import applying, members, service
from authsite.groups.service import GroupValues
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.service import Cause
from authsite.platform.tasks.background import BACKGROUND_TASKS, transaction
from authsite.users.groups import labels
from authsite.users.groups.labels import GroupChange
from authsite.users.models import User
from tests.support import administrators
from tests.support.acting import acting
from tests.support.factors import context
from tests.support.pages import csrf_of
from tests.support.site import bearer

SCOPES = "\n  notes:read: Read notes\n  payments:write [groups]: Pay"
CAUSE = Cause("command", reason="a test")
NAMES = [f"u{number}@example.com" for number in range(3)]


@pytest.fixture
def site(site_with, monkeypatch):
    """A site that leaves groups with over two members to the task, which the test runs."""
    site = site_with(**administrators.SETTINGS, scopes=SCOPES)
    monkeypatch.setattr(applying, "LARGE", 2)
    monkeypatch.setattr(applying, "BATCH", 1)
    task = BACKGROUND_TASKS.of(services(site))[applying.TASK]
    task.job, task.process = applying.make_job(services(site)), os.getpid()
    yield site
    task.job = task.process = None


@pytest.fixture
def people(site):
    """The members of the group finance, by address."""
    found = {email: site.user(email) for email in NAMES}
    with site.db() as db:
        ctx = context(site, db)
        service.create(ctx, "finance", GroupValues("Finance", "payments:write"), CAUSE)
        for user in found.values():
            members.add(ctx, "finance", user.id, CAUSE)
    return found


def services(site):
    return site.app.registry["authsite"]


def apply_all(site):
    applying.apply_all(services(site), threading.Event())


def written_labels(site):
    with site.db() as db:
        query = select(User.labels).where(User.email.in_(NAMES)).order_by(User.id)
        return list(db.scalars(query))


def events(site, name):
    with site.db() as db:
        return [each.details for each in db.scalars(select(AuditEvent).filter_by(event=name))]


def begin(site, **given):
    with transaction(services(site)) as ctx:
        return service.change(ctx, "finance", GroupValues(**given), CAUSE)


def take_step(site, change_id):
    with transaction(services(site)) as ctx:
        return applying.step(ctx, change_id)


def test_the_api_answers_before_the_members_lose_a_scope(site, people):
    owner = administrators.make(site, "owner")
    headers = administrators.token(site, "admin:groups:write")
    keys = site.client(scope="payments:write notes:read")
    tokens = [site.login(keys, email, scope="payments:write notes:read") for email in NAMES]
    path = "/v1/admin/groups/finance"
    changed = site.http.patch_json(path, {"scopes": [], "reason": "audit"}, headers=headers).json
    assert changed["pending_count"] == 3
    site.me(tokens[0]["access_token"])
    renewed = site.refresh(keys, tokens[0]["refresh_token"])
    assert renewed["scope"] == "notes:read"  # no new token carries it
    apply_all(site)
    assert site.http.get(path, headers=headers).json["pending_count"] == 0
    site.me(renewed["access_token"])
    for each in tokens[1:]:
        site.http.get("/v1/user", headers=bearer(each["access_token"]), status=401)
    actor = {"actor": {"kind": "user", "id": str(owner.id)}, "reason": "audit"}
    begun = {"group": "finance", "members": "3", **actor}
    assert events(site, "group.changed") == [{**begun, "scopes": ""}]
    assert events(site, "group.applied") == [begun]


@pytest.mark.both_databases
def test_what_was_stopped_goes_on_where_it_was(site, people):
    begun = begin(site, require_acr="aal2")
    assert take_step(site, begun)
    with Session(site.database.transactional) as db:
        assert applying.step(acting(db, services(site)), begun)
        db.rollback()  # the process ends
    assert written_labels(site) == ["finance=aal2", "finance", "finance"]
    with site.db() as db:
        assert applying.pending(db) == {"finance": 2}
    stopped = threading.Event()
    stopped.set()
    applying.apply_all(services(site), stopped)
    apply_all(site)
    assert written_labels(site) == ["finance=aal2"] * 3
    apply_all(site)  # of nothing
    assert len(events(site, "group.applied")) == 1


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_one_process_takes_a_step_at_a_time(site, people):
    begun = begin(site, require_acr="aal2")
    with transaction(services(site)) as ctx:
        assert applying.step(ctx, begun)
        with transaction(services(site)) as other:
            assert not applying.step(other, begun, wait=False)
    assert written_labels(site) == ["finance=aal2", "finance", "finance"]
    apply_all(site)
    assert written_labels(site) == ["finance=aal2"] * 3


def test_a_further_change_includes_what_the_one_before_has_not_come_to(site, people):
    keys = site.client(scope="payments:write notes:read")
    tokens = [site.login(keys, email, scope="payments:write") for email in NAMES]
    take_step(site, begin(site, scopes=""))
    begin(site, require_acr="aal2")
    with site.db() as db:
        [change] = db.scalars(select(GroupChange))
        assert (change.lost, change.relabel) == ("payments:write", True)
    apply_all(site)
    for each in tokens:
        site.http.get("/v1/user", headers=bearer(each["access_token"]), status=401)
    assert written_labels(site) == ["finance=aal2"] * 3


def test_a_deleted_group_is_gone_before_its_members_have_left(site, people):
    administrators.signed_in(site, "owner")
    begin(site, require_acr="aal2")
    apply_all(site)
    path = "/admin/groups/finance/delete"
    form = {"csrf_token": csrf_of(site.http.get(path))}
    page = site.http.post(path, form, status=303).follow()
    assert "The group finance is deleted." in page.text
    assert "Members who have not left it yet: 3" in page.text
    site.http.get("/admin/groups/finance", status=404)
    fields = {"name": "finance", "title": "Other", "require_acr": "", "scopes": ""}
    form = {"csrf_token": csrf_of(site.http.get("/admin/new-group")), **fields}
    refused = site.http.post("/admin/new-group", form, status=409)
    assert "its members are still being removed" in refused.text
    with site.db() as db:  # for another reason: not as of a group without a level
        labels.write(db, [people[NAMES[0]].id])
    assert sorted(map(str, written_labels(site))) == ["None", "finance=aal2", "finance=aal2"]
    apply_all(site)
    assert written_labels(site) == [None] * 3
    assert len(events(site, "group.member_removed")) == 3
    assert [each["members"] for each in events(site, "group.applied")] == ["3", "3"]
    assert "being" not in site.http.get("/admin/groups").text
    site.http.post("/admin/new-group", form, status=303)


def test_the_pages_say_how_far_a_change_has_come(site, people):
    administrators.signed_in(site, "owner")
    take_step(site, begin(site, require_acr="aal2"))
    page = site.http.get("/admin/groups/finance")
    assert "Members that it has not come to yet: 2" in page.text
    apply_all(site)
    assert "has not come to yet" not in site.http.get("/admin/groups/finance").text


def test_the_command_applies_a_change_itself(site, people, commands):
    result = commands.run("group", "update", "finance", "--require-acr", "aal2")
    assert "is being applied to 3 members" in result.stderr
    assert written_labels(site) == ["finance=aal2"] * 3
    with transaction(services(site)) as ctx:
        service.delete(ctx, "finance", CAUSE)  # as if the command had been stopped
    commands.run("group", "delete", "finance")
    assert written_labels(site) == [None] * 3
    assert len(events(site, "group.deleted")) == 1
