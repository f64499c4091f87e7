"""All that is stored about a user, and nothing that opens an account."""

import json
from uuid import UUID

import pytest
from sqlalchemy import select

from authsite import clock
from authsite.account.export import PARTS, USER, export
from authsite.audit.models import AuditEvent
from authsite.db.base import Base
from authsite.oauth.models import Family
from authsite.sessions.models import BrowserSession
from authsite.settings.rate_limits import RATE_LIMITS
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.pages import sign_in
from tests.support.site import PASSWORD

# What is stored about a user and not exported: hashes, counters of our own, internals of sending.
WITHHELD = {
    "users": {"password_hash", "epoch", "recovery_version", "recognition_version", "pending_epoch"},
    "login_names": {"user_id"},
    "former_addresses": {"user_id", "epoch"},
    "families": {
        "kind", "owner_kind", "user_id", "rescoped", "user_epoch", "client_epoch", "generation",
    },
    "web_sessions": {"key_hash", "user_id", "user_epoch"},
    "outbox": {"user_id", "lease_until", "lease_owner"},
    "audit_events": {"user_id"},
}  # fmt: skip


def exported_columns():
    """Table -> the names of its exported attributes."""
    found = {"users": set(USER.split())}
    for model, _, columns in PARTS.values():
        found.setdefault(model.__tablename__, set()).update(columns.split())
    return found


def test_every_column_of_every_table_about_users_is_exported_or_named_here():
    about = {
        mapper.local_table.name: {attribute.key for attribute in mapper.column_attrs}
        for mapper in Base.registry.mappers
        if mapper.local_table.name == "users" or "user_id" in mapper.columns
    }
    exported = exported_columns()
    assert {
        name: columns - exported.get(name, set()) for name, columns in about.items()
    } == WITHHELD


@pytest.fixture
def exported(site_with):
    """The export of a user who did everything, as JSON text and as values."""
    site = site_with(limits="on")
    user = site.user(username=None)
    keys = site.client()
    site.login(keys)
    site.try_login(keys)
    sign_in(site)
    site.http.post("/v1/password/forgot", {"email": "ann@example.com", "reset_url": RESET})
    site.user("bo@example.com")
    site.login(keys, "bo@example.com")
    with site.db() as db:
        found = export(acting(db, site.app.registry["authsite"]), db.get(User, user.id))
    found["site"], found["id"] = site, user.id
    return found


RESET = "http://localhost/password/reset"


def test_an_export_has_everything_about_one_user(exported):
    site, id = exported.pop("site"), exported.pop("id")
    assert exported["user"]["id"] == str(id)
    assert exported["login_names"] == [{"kind": "email", "key": "ann@example.com"}]
    [app], [browser] = exported["sign_ins_of_apps"], exported["sign_ins_of_browsers"]
    with site.db() as db:
        assert UUID(app["id"]) in db.scalars(select(Family.id).where(Family.user_id == id)).all()
        assert UUID(browser["id"]) == db.scalars(select(BrowserSession.id)).one()
    [mail] = exported["mails"]
    assert (mail["kind"], mail["address"], mail["page_url"]) == ("reset", "ann@example.com", RESET)
    events = [each["event"] for each in exported["audit_events"]]
    assert {"user.created", "token.issued", "login.failed", "session.begun"} <= set(events)
    limits = {each["limit"] for each in exported["rate_limits"]}
    assert {"login-account"} <= limits <= {*RATE_LIMITS, "first"}
    assert "bo@example.com" not in json.dumps(exported)


def test_an_export_has_no_hash_and_no_secret(exported):
    site, id = exported.pop("site"), exported.pop("id")
    text = json.dumps(exported)
    with site.db() as db:
        user = db.get(User, id)
        assert user.password_hash not in text
        assert db.scalars(select(BrowserSession.key_hash)).one() not in text
    assert PASSWORD not in text
    assert "$2" not in text


def test_an_export_is_in_the_audit_trail(exported):
    site, id = exported["site"], exported["id"]
    assert site.events()[-1] == "user.exported"
    with site.db() as db:
        event = db.scalars(select(AuditEvent).order_by(AuditEvent.id.desc())).first()
        assert event.user_id == id
        assert event.at <= clock.now()
