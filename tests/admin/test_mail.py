"""The outbox for administrators: list, retry, cancel."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select, update

from authsite.admin.mail.service import CANCELABLE
from authsite.platform.audit.models import AuditEvent
from authsite.platform.mail.message import MAIL_BUILDERS
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime import clock
from tests.support import administrators
from tests.support.mails import put

MAILS = "/v1/admin/mails"


@pytest.fixture
def support(site):
    """The header of a supporter's token."""
    administrators.make(site, "support")
    headers = administrators.token(site, "admin:mail:write")
    with site.db() as db:  # the notice of the new administrator
        db.query(OutboxMessage).delete()
    return headers


def change(site, id_, **values):
    with site.db() as db:
        db.execute(update(OutboxMessage).where(OutboxMessage.id == id_).values(**values))


def events(site):
    query = select(AuditEvent).where(AuditEvent.event.startswith("mail.")).order_by(AuditEvent.id)
    with site.db() as db:
        return [(each.event, each.user_id, each.details) for each in db.scalars(query)]


def act(site, headers, id_, action, status=200, **body):
    return site.http.post_json(f"{MAILS}/{id_}/{action}", body, headers=headers, status=status).json


@pytest.mark.both_databases
def test_the_list_has_all_states_the_newest_first(site, support):
    ids = [put(site, address=f"u{number}@example.com") for number in range(5)]
    for number, state in enumerate(("sent", "dead", "waiting", "expired", "waiting")):
        at = clock.now() - timedelta(minutes=10 - number)
        change(site, ids[number], state=state, created_at=at)
    found, url = [], f"{MAILS}?limit=2"
    while url:
        answer = site.http.get(url, headers=support)
        found += answer.json["data"]
        link = answer.headers.get("Link")
        url = link.partition(">")[0][1:] if link else None
    assert [each["id"] for each in found] == [str(each) for each in reversed(ids)]
    assert found[0]["to"] == "u…@example.com"
    waiting = site.http.get(f"{MAILS}?state=waiting", headers=support).json["data"]
    assert [each["id"] for each in waiting] == [str(ids[4]), str(ids[2])]
    site.http.get(f"{MAILS}?state=lost", headers=support, status=422)


@pytest.mark.both_databases
def test_a_dead_mail_is_tried_again_and_that_is_an_event(site, support):
    user = site.user("ann@example.com")
    id_ = put(site, kind="reset", address="ann@example.com")
    change(site, id_, state="dead", user_id=user.id)
    assert act(site, support, id_, "retry", reason="Repaired.")["state"] == "waiting"
    assert act(site, support, id_, "retry")["state"] == "waiting"  # repeated: no event
    ((event, user_id, details),) = events(site)
    assert (event, user_id) == ("mail.retried", user.id)
    assert details["kind"] == "reset"
    assert details["reason"] == "Repaired."
    assert details["actor"]["kind"] == "user"


@pytest.mark.both_databases
def test_a_mail_that_waits_is_canceled_and_never_sent(site, support):
    id_ = put(site, kind="reset")
    assert act(site, support, id_, "cancel")["state"] == "expired"
    assert act(site, support, id_, "cancel")["state"] == "expired"
    assert [event for event, *_ in events(site)] == ["mail.canceled"]
    act(site, support, id_, "retry", status=409)


def test_a_notice_of_security_is_never_canceled(site, support):
    id_ = put(site, kind="password_changed")
    assert act(site, support, id_, "cancel", status=403)["errors"][0]["code"] == "not_allowed"
    assert events(site) == []


def test_what_can_be_canceled_is_known(site):
    builders = set(MAIL_BUILDERS.of(site.app.registry["authsite"]))
    assert builders >= CANCELABLE
    for notice in ("password_changed", "email_changed", "factors_reset", "new_device"):
        assert notice in builders - CANCELABLE


def test_a_mail_that_is_being_sent_or_was_sent_is_not_canceled(site, support):
    id_ = put(site, kind="reset")
    change(site, id_, lease_until=clock.now() + timedelta(minutes=1), lease_owner="other")
    assert act(site, support, id_, "cancel", status=409)["errors"][0]["code"] == "conflict"
    change(site, id_, state="sent")
    act(site, support, id_, "cancel", status=409)
    act(site, support, uuid4(), "cancel", status=404)
    act(site, support, "x", "retry", status=404)


def test_mails_of_those_who_may_do_more_are_left_alone(site, support):
    owner = administrators.make(site, "owner", "owner@example.com")
    id_ = put(site, kind="reset")
    change(site, id_, state="dead", user_id=owner.id)
    for action in ("retry", "cancel"):
        assert act(site, support, id_, action, status=403)["errors"][0]["code"] == "outranked"
    client = administrators.client(site, "admin:mail:write")
    act(site, client, id_, "retry", status=403)


def test_a_body_has_only_a_reason(site, support):
    id_ = put(site, kind="reset")
    act(site, support, id_, "cancel", status=422, why="x")
    site.http.post(f"{MAILS}/{id_}/cancel", headers=support)  # no body: no reason


def test_one_who_may_only_read_cannot_act(site):
    administrators.make(site, "viewer")
    headers = administrators.token(site, "admin:mail:write")
    site.http.get(MAILS, headers=headers)
    act(site, headers, put(site, kind="reset"), "cancel", status=403)


def test_the_error_of_a_mail_server_has_no_whole_address(site, support):
    id_ = put(site, address="private.person@example.org")
    error = "550 5.1.1 <Private.Person@example.org>: Recipient address rejected"
    change(site, id_, state="dead", last_error=error)
    [shown] = site.http.get(f"{MAILS}?state=dead", headers=support).json["data"]
    assert shown["last_error"] == "550 5.1.1 <p…@example.org>: Recipient address rejected"
