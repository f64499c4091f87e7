"""What the table of denied requests takes, and what it never has."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import func, select, text

from authsite.platform.denied_requests import notes as module
from authsite.platform.denied_requests.models import DeniedRequest
from authsite.platform.denied_requests.notes import (
    ALIKE,
    IN_ALL,
    MAX_HELD,
    PER_REASON,
    PER_SUBJECT,
    make_job,
)
from authsite.platform.denied_requests.reason import MAX_SHOWN, shown
from authsite.platform.denied_requests.service import purge
from authsite.platform.runtime import clock
from tests.support.authorizing import application, authorize
from tests.support.statements import counted

MACHINE = {"grant_type": "client_credentials", "scope": "x"}


@pytest.fixture(autouse=True)
def without_task(world):
    """Each request writes its own row, as in a host application without background tasks."""
    world.another()
    world.notes.wake = None


def services(world):
    return world.site.app.registry["authsite"]


def count(world):
    with world.site.db() as db:
        return db.scalar(select(func.count()).select_from(DeniedRequest))


def values(reason="token.scope", **more):
    about = {"request_id": "r", "route": "oauth.token", "status": 400, "error": "x"}
    missing = dict.fromkeys(("client_id", "address", "details"))
    return {**about, **missing, "at": clock.now(), "reason": reason, **more}


def note(notes, made, subject):
    """Hold a row, if the bounds let it."""
    reason = made["reason"] or made["error"]
    if notes.takes(made["route"], subject, reason, made["at"]):
        notes.hold(made)


def test_an_address_adds_a_bounded_number_in_an_hour(world, frozen):
    keys = world.site.client("personal")
    for number in range(ALIKE + 5):
        frozen.advance(2)  # no reason has too many in a minute
        world.site.token(keys, 400, **MACHINE)
        assert count(world) == min(number + 1, ALIKE)
    for number in range(ALIKE + 5):
        frozen.advance(2)
        world.site.token(keys, 400, grant_type="implicit")
        assert count(world) == min(ALIKE + number + 1, PER_SUBJECT)
    world.site.token(keys, 400, grant_type="password")
    assert count(world) == PER_SUBJECT
    world.site.http.extra_environ["REMOTE_ADDR"] = "192.0.2.77"
    world.site.token(keys, 400, **MACHINE)
    assert count(world) == PER_SUBJECT + 1
    world.site.new_browser()
    frozen.advance(3600)
    world.site.token(keys, 400, **MACHINE)
    assert count(world) == PER_SUBJECT + 2


def test_an_address_adds_a_bounded_number_at_all_endpoints(world, frozen):
    for number in range(IN_ALL + 5):
        frozen.advance(2)
        note(world.notes, values(f"r.{number}", route=f"route {number}"), "address")
    assert count(world) == IN_ALL
    note(world.notes, values(), "another address")
    assert count(world) == IN_ALL + 1


def test_the_addresses_of_one_ipv6_network_are_one(world, frozen):
    keys = world.site.client("personal")
    for number in range(ALIKE + 5):
        frozen.advance(2)
        world.site.http.extra_environ["REMOTE_ADDR"] = f"2001:db8::{number + 1:x}"
        world.site.token(keys, 400, **MACHINE)
    assert count(world) == ALIKE
    world.site.http.extra_environ["REMOTE_ADDR"] = "2001:db8:0:1::1"
    world.site.token(keys, 400, **MACHINE)
    world.site.new_browser()
    assert count(world) == ALIKE + 1


def test_a_reason_adds_a_bounded_number_in_a_minute(world, frozen):
    notes = world.notes
    for number in range(PER_REASON + 5):
        note(notes, values(), f"address {number}")
    note(notes, values("token.target"), "address")
    assert count(world) == PER_REASON + 1
    frozen.advance(61)
    note(notes, values(), "address")
    assert count(world) == PER_REASON + 2


def test_the_table_is_bounded(world, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 3)
    notes = world.notes
    for number in range(9):
        note(notes, values(request_id=f"r{number}"), "address")
    with world.site.db() as db:
        left = db.scalars(select(DeniedRequest.request_id).order_by(DeniedRequest.id)).all()
    assert left == ["r6", "r7", "r8"]


def test_rows_of_a_week_ago_are_deleted(world):
    notes = world.notes
    note(notes, values(at=clock.now() - timedelta(days=7, minutes=1)), "address")
    notes.forget()
    note(notes, values(request_id="new"), "address")
    with world.site.database.autocommit.connect() as connection:
        assert sum(batch.deleted for batch in purge(connection, clock.now(), world.site.cfg)) == 1
    assert count(world) == 1


def test_a_task_writes_what_came_together_and_no_request_waits(world):
    made, notes = make_job(services(world)), world.notes
    thread = threading.Thread(target=made.run)
    try:
        with counted(world.site.database) as statements:
            for number in range(3):
                note(notes, values(request_id=f"r{number}"), "address")
        assert statements == []
        thread.start()
        made.stop()
        thread.join(10)
        assert not thread.is_alive()
        assert count(world) == 3
    finally:
        notes.wake = None


def test_what_waits_is_bounded(world):
    notes = world.notes
    notes.wake = threading.Event()
    try:
        for number in range(MAX_HELD + 50):
            note(notes, values(f"r.{number}"), f"address {number}")
    finally:
        notes.wake = None
    notes.write()
    assert count(world) == MAX_HELD


def rename(site, former, name):
    with site.db() as db:
        db.execute(text(f"ALTER TABLE {former} RENAME TO {name}"))


def test_where_the_row_cannot_be_written_the_answer_stays_the_same(world):
    keys = world.site.client("personal")
    rename(world.site, "denied_requests", "elsewhere")
    try:
        assert world.site.token(keys, 400, **MACHINE).json["error"] == "invalid_scope"
    finally:
        rename(world.site, "elsewhere", "denied_requests")
    assert count(world) == 0
    world.site.token(keys, 400, **MACHINE)
    assert count(world) == 1


def test_what_is_answered_needs_no_statement_more(world):
    keys = world.site.client("personal")
    form = {"grant_type": "client_credentials"}
    world.site.token(keys, **form)
    before = count(world)
    with counted(world.site.database) as statements:
        world.site.token(keys, **form)
    assert not [each for each in statements if "denied_requests" in each]
    assert count(world) == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("a\u202eb", "a\\u202eb"),
        ("\x1b[31m\n\0", "\\x1b[31m\\n\\x00"),
        ("\ud800", "\\ud800"),
        ("é", "é"),
        ("x" * 301, "x" * 300 + "…"),
    ],
)
def test_what_is_shown_of_hostile_input(text, expected):
    assert shown(text) == expected


def test_hostile_input_is_short_and_harmless_in_the_table(world):
    app = application(world.site)
    sent = "https://x/\u202e\x1b]0;x\x07" + "y" * 1000
    authorize(world.site, app, redirect_uri=sent)
    with world.site.db() as db:
        [row] = db.scalars(select(DeniedRequest))
    assert row.client_id == app.id
    assert row.details["sent"].startswith("https://x/\\u202e\\x1b]0;x\\x07y")
    assert all(len(each) <= MAX_SHOWN + 1 and each.isprintable() for each in row.details.values())
