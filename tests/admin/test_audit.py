"""The audit trail for administrators: filters, cursors, the walk, the export, the seals."""

import csv
import json
from datetime import timedelta
from io import StringIO
from uuid import uuid4

import pytest
from sqlalchemy import delete, insert, update
from sqlalchemy.orm import Session

from authsite.admin.audit import service
from authsite.admin.audit.service import EventsQuery
from authsite.admin.guard import Administrator
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.seals.seal import audit_keys
from authsite.platform.audit.seals.sealing import seal_rest
from authsite.platform.audit.seals.verification import last_result, note, verify
from authsite.platform.runtime import clock
from tests.support import administrators
from tests.support.factors import context

EVENTS = "/v1/admin/events"
SEALS = "/v1/admin/seals"


@pytest.fixture
def reader(site):
    """The header of a client that may read the trail."""
    return administrators.client(site, "admin:audit:read")


def add(site, *rows):
    """Events of an hour ago, one second after another."""
    at = clock.now() - timedelta(hours=1)
    with site.db() as db:
        for number, row in enumerate(rows):
            values = {"event": "login.failed", "at": at + timedelta(seconds=number), **row}
            db.execute(insert(AuditEvent).values(values))


def everything(site, headers, query=""):
    """All rows of the list, and the number of its parts."""
    found, parts, url = [], 0, f"{EVENTS}?{query}"
    while url:
        answer = site.http.get(url, headers=headers)
        found += answer.json["data"]
        parts += 1
        link = answer.headers.get("Link")
        assert (link is None) == (answer.json["next"] is None)
        url = link.partition(">")[0][1:] if link else None
    return found, parts


def test_the_newest_comes_first_and_nothing_is_skipped_or_repeated(site, reader):
    add(site, *({"request_id": f"r{number}"} for number in range(7)))
    with site.db() as db:  # some at the same moment
        db.execute(update(AuditEvent).values(at=clock.now() - timedelta(hours=1)))
    shown, parts = everything(site, reader, "event=login.failed&limit=2")
    assert [each["request_id"] for each in shown] == [f"r{number}" for number in range(6, -1, -1)]
    assert parts == 4


def test_new_events_do_not_disturb_a_list_that_goes_on(site, reader):
    add(site, *({"request_id": f"r{number}"} for number in range(4)))
    first = site.http.get(f"{EVENTS}?event=login&limit=2", headers=reader).json
    with site.db() as db:
        db.execute(insert(AuditEvent).values(event="login.failed", at=clock.now()))
    url = f"{EVENTS}?event=login&limit=2&cursor={first['next']}"
    shown = site.http.get(url, headers=reader).json["data"]
    assert [each["request_id"] for each in shown] == ["r1", "r0"]


@pytest.mark.both_databases
def test_each_filter(site, reader):
    user = site.user("ann@example.com")
    client = uuid4()
    add(
        site,
        {"user_id": user.id, "request_id": "of the user"},
        {"client_id": client, "request_id": "of the client"},
        {"address": "203.0.113.7", "request_id": "of the address"},
        {"event": "login.locked", "request_id": "of the name"},
        {"at": clock.now() - timedelta(days=2), "request_id": "old"},
    )
    for query, name in {
        f"user={user.id}&event=login": "of the user",
        "user=ann@example.com&event=login.failed": "of the user",
        f"client={client}": "of the client",
        "address=203.0.113.7": "of the address",
        "event=login.locked": "of the name",
        "event=login&until=24h": "old",
    }.items():
        shown, _ = everything(site, reader, query)
        assert [each["request_id"] for each in shown] == [name], query
    shown, _ = everything(site, reader, "event=login&since=24h")
    assert "old" not in {each["request_id"] for each in shown}
    assert len(shown) == 4


@pytest.mark.parametrize(
    "query",
    ["user=nobody@example.com", "client=web", "event=rockets", "since=soon", "limit=0", "limit=x"],
)
def test_a_filter_that_cannot_be_understood_finds_nothing_by_an_error(site, reader, query):
    answer = site.http.get(f"{EVENTS}?{query}", headers=reader, status=422)
    assert answer.json["errors"][0]["field"] == query.partition("=")[0]


@pytest.mark.both_databases
def test_a_filter_reads_a_number_of_events_and_goes_on_with_a_cursor(site, reader, monkeypatch):
    monkeypatch.setattr(service, "WALK", 5)
    add(site, {"address": "203.0.113.7"}, *[{}] * 12)
    first = site.http.get(f"{EVENTS}?address=203.0.113.7", headers=reader).json
    assert first["data"] == []
    assert first["next"]
    shown, parts = everything(site, reader, "address=203.0.113.7")
    assert [each["address"] for each in shown] == ["203.0.113.7"]
    assert parts >= 3


def test_a_cursor_is_for_its_caller_and_its_filters(site, reader):
    add(site, *[{}] * 4)
    next_ = site.http.get(f"{EVENTS}?event=login&limit=1", headers=reader).json["next"]
    other = administrators.client(site, "admin:audit:read admin:users:read")
    for query, headers in ((f"event=login&cursor={next_}", other), (f"cursor={next_}", reader)):
        answer = site.http.get(f"{EVENTS}?{query}", headers=headers, status=400)
        assert answer.json["errors"][0]["code"] == "invalid_cursor"
    site.http.get(f"{EVENTS}?event=login&limit=3&since=24h&cursor=x", headers=reader, status=400)


def test_the_events_of_a_request_are_explained(site, reader):
    add(site, {"request_id": "abc", "details": {"reason": "wrong_password"}})
    shown = site.http.get(f"{EVENTS}/explain/abc", headers=reader).json["events"]
    assert [each["details"] for each in shown] == [{"reason": "wrong_password"}]
    site.http.get(f"{EVENTS}/explain/other", headers=reader, status=404)


def test_an_export_is_one_object_on_each_line_and_an_event(site):
    user = administrators.make(site, "security")
    headers = administrators.token(site, "admin:exports:read admin:audit:read")
    add(site, {"request_id": "a"}, {"request_id": "b"})
    answer = site.http.get(f"{EVENTS}/export?event=login.failed", headers=headers)
    assert answer.content_type == "application/x-ndjson"
    assert [json.loads(line)["request_id"] for line in answer.text.splitlines()] == ["b", "a"]
    shown, _ = everything(site, headers, "event=audit.exported")
    assert shown[0]["details"] == {
        "filters": "event=login.failed",
        "actor": {"kind": "user", "id": str(user.id)},
    }


def test_an_export_goes_on_with_a_link(site, monkeypatch):
    monkeypatch.setattr(service, "WALK", 2)
    administrators.make(site, "security")
    headers = administrators.token(site, "admin:exports:read")
    add(site, *[{}] * 3)
    answer = site.http.get(f"{EVENTS}/export?user={uuid4()}", headers=headers)
    assert "Link" not in answer.headers
    answer = site.http.get(f"{EVENTS}/export", headers=headers)
    assert len(answer.text.splitlines()) == 2
    assert 'rel="next"' in answer.headers["Link"]


@pytest.mark.both_databases
def test_an_export_is_read_while_it_is_sent(site, monkeypatch):
    """In parts, in the order of the list; what is deleted before its part is left out."""
    monkeypatch.setattr(service, "PART", 2)
    user = administrators.make(site, "security")
    add(site, *[{"request_id": str(number)} for number in range(5)])
    with Session(site.database.autocommit) as db:  # as of a request that reads
        ctx, query = context(site, db), EventsQuery.model_validate({"event": "login.failed"})
        found = service.export(ctx, Administrator("user", frozenset(), user.id), query)
        first = next(found.parts)
    with site.db() as db:
        db.execute(delete(AuditEvent).where(AuditEvent.request_id == "2"))
    parts = [first, *found.parts]
    ids = [[each["request_id"] for each in part] for part in parts]
    assert ids == [["4", "3"], ["1"], ["0"]]


def test_exports_have_a_limit_for_each_administrator(site_with):
    """The file, the table of the console and the data of a user count together."""
    settings = {**administrators.SETTINGS, "limits": "on", "limits.admin-export": "3/hour"}
    site = site_with(**settings)
    user = site.user("ann@example.com")
    administrators.signed_in(site, "security")
    headers = administrators.token(site, "admin:exports:read")
    site.http.get(f"{EVENTS}/export?user=x", headers=headers, status=422)
    for path in (f"{EVENTS}/export", f"/v1/admin/users/{user.id}/export"):
        site.http.get(path, headers=headers)
    site.http.get("/admin/audit.csv")
    for path, more in ((f"{EVENTS}/export", headers), ("/admin/audit.csv", {})):
        refused = site.http.get(path, headers=more, status=429)
        assert refused.headers["Retry-After"]
    administrators.make(site, "owner", "other@example.com")
    other = administrators.token(site, "admin:exports:read", "other@example.com")
    site.http.get(f"{EVENTS}/export", headers=other)


@pytest.mark.parametrize("scope", ["admin:audit:read", "admin:exports:read"])
def test_a_client_exports_nothing(site, scope):
    headers = administrators.client(site, scope)
    site.http.get(f"{EVENTS}/export", headers=headers, status=403)


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "=cmd|' /C calc'!A0"]
)
def test_a_cell_is_never_a_formula(text):
    names = ("user_id", "email", "client_id", "client", "address", "device", "request_id")
    row = {**dict.fromkeys(names), "at": "x", "event": "y", "agent": text, "details": {}}
    written = b"".join(service.as_csv([[row]])).decode()
    ((_, cells)) = csv.reader(StringIO(written, newline=""))
    assert cells[service.COLUMNS.index("agent")] == f"'{text}"
    assert cells[0] == "x"


@pytest.mark.both_databases
def test_a_short_trail_is_verified_at_once(site, reader):
    add(site, {"request_id": "a"}, {"request_id": "b"})
    services = site.app.registry["authsite"]
    with site.database.autocommit.connect() as connection:
        seal_rest(connection, audit_keys(services.settings))
    shown = site.http.get(SEALS, headers=reader).json
    # The event is an hour old at the time of its seal, as if seals had been made again.
    assert shown["seals"] == 1
    assert shown["newest_seal"]["seal"] == 1
    with site.db() as db:
        db.execute(update(AuditEvent).values(address="198.51.100.9"))
    shown = site.http.get(SEALS, headers=reader).json
    assert shown["ok"] is False
    assert "an event was changed" in [each["text"] for each in shown["problems"]]


def test_a_longer_trail_is_verified_once_a_minute(site, reader, monkeypatch):
    """Else who may read the trail keeps all processors busy."""
    monkeypatch.setattr("authsite.admin.audit.service.AT_ONCE", 1)
    add(site, {}, {})
    first = site.http.get(SEALS, headers=reader).json
    add(site, {})
    assert site.http.get(SEALS, headers=reader).json == first
    monkeypatch.setattr("authsite.admin.audit.service.AT_ONCE", 1000)
    assert site.http.get(SEALS, headers=reader).json["unsealed"] == first["unsealed"] + 1


@pytest.mark.both_databases
def test_of_a_long_trail_the_last_verification_is_shown(site, reader, monkeypatch):
    monkeypatch.setattr("authsite.admin.audit.service.WALK", 1)
    add(site, {}, {})
    assert site.http.get(SEALS, headers=reader).json["verified_at"] is None
    keys = audit_keys(site.cfg)
    with site.database.autocommit.connect() as connection:
        summary, problems = verify(connection, keys)
        note(connection, keys, summary, len(problems))
        assert last_result(connection, keys).unsealed == summary.unsealed
    shown = site.http.get(SEALS, headers=reader).json
    assert shown["verified_at"]
    assert (shown["seals"], shown["unsealed"]) == (0, summary.unsealed)


def test_a_result_that_authsite_has_not_stored_is_none(site):
    keys = audit_keys(site.cfg)
    with site.database.autocommit.connect() as connection:
        note(connection, keys, verify(connection, keys)[0], 0)
        connection.exec_driver_sql(
            "UPDATE installation_records SET value = '0 9' || substr(value, 4)"
            " WHERE name = 'audit-verified'"
        )
        assert last_result(connection, keys) is None


def test_an_old_request_is_found_by_its_time_or_in_the_whole_trail(site, reader, monkeypatch):
    monkeypatch.setattr(service, "WALK", 2)
    old = clock.now() - timedelta(days=3)
    add(site, {"request_id": "abc", "at": old}, {"request_id": "abc", "at": old}, *[{}] * 3)
    path = f"{EVENTS}/explain/abc"
    for query in ("", f"?at={clock.rfc3339(old)}"):
        assert len(site.http.get(path + query, headers=reader).json["events"]) == 2
    site.http.get(f"{path}?at=24h", headers=reader, status=404)
    site.http.get(f"{path}?at=soon", headers=reader, status=422)


def test_the_events_of_a_user_are_walked_too(site, reader, monkeypatch):
    monkeypatch.setattr(service, "WALK", 3)
    user = uuid4()
    names = ["user.disabled", *["login.failed"] * 6, "user.disabled"]
    add(site, *({"event": name, "user_id": user} for name in names))
    shown, parts = everything(site, reader, f"user={user}&event=user.disabled")
    assert [each["event"] for each in shown] == ["user.disabled"] * 2
    assert parts == 3
