"""All that is stored about a user, and nothing that opens an account."""

import json
from uuid import UUID

import pytest
from sqlalchemy import select

from authsite.account.service import export_as_administrator
from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.device.service import DeviceCode
from authsite.oauth.models import Family
from authsite.platform.audit.models import AuditEvent
from authsite.platform.db.base import Base
from authsite.platform.runtime import clock
from authsite.platform.settings.rate_limits import RATE_LIMITS
from authsite.platform.stored_requests import StoredRequest
from authsite.platform.user_data import USER_DATA
from authsite.sign_in.pending import PendingLogin
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.pages import sign_in, submit
from tests.support.personal import created
from tests.support.site import PASSWORD, bearer

# What is stored about a user and not exported: hashes, counters of our own, internals of sending.
WITHHELD = {
    "users": {
        "password_hash", "epoch", "recovery_version", "recognition_version", "factor_version",
        "folded_name",
        "pending_epoch",
    },
    "totp_factors": {"user_id", "secret", "last_step", "failures"},
    "passkeys": {"user_id", "credential_id", "public_key", "user_handle", "sign_count"},
    "recovery_codes": {"id", "user_id", "mac"},
    "remembered_browsers": {"id", "user_id", "factor_version", "recovery_version"},
    "login_names": {"user_id"},
    "former_addresses": {"user_id", "epoch"},
    "released_usernames": {"digest", "user_id", "expires_at"},  # a keyed hash
    "group_members": {"user_id"},
    "families": {
        "owner_kind", "user_id", "rescoped", "user_epoch", "client_epoch", "generation",
    },
    "web_sessions": {"key_hash", "user_id", "user_epoch"},
    "identities": {"user_id"},
    "stored_requests": set(StoredRequest.__table__.columns.keys()),  # they last an hour
    "pending_logins": set(PendingLogin.__table__.columns.keys()),  # they last ten minutes
    "personal_tokens": {"user_id", "user_epoch", "client_epoch"},
    "authorization_codes": set(AuthorizationCode.__table__.columns.keys()),  # they last a minute
    "device_codes": set(DeviceCode.__table__.columns.keys()),  # they last ten minutes
    "consents": {"user_id"},
    "outbox": {"user_id", "lease_until", "lease_owner"},
    "audit_events": {"user_id"},
}  # fmt: skip


def test_every_column_of_every_table_about_users_is_exported_or_named_here(site):
    about = {
        mapper.local_table.name: {attribute.key for attribute in mapper.column_attrs}
        for mapper in Base.registry.mappers
        if mapper.local_table.name == "users" or "user_id" in mapper.columns
    }
    for data in USER_DATA.of(site.app.registry["authsite"]).values():
        about.get(data.model.__tablename__, set()).difference_update(data.columns.split())
    assert about == WITHHELD


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
        context = acting(db, site.app.registry["authsite"])
        found = export_as_administrator(context, db.get(User, user.id))
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
    [named] = exported["applications"]
    assert (named["id"], named["name"]) == (app["client_id"], "test")
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


EXPORT = "/v1/user/export"


@pytest.fixture
def ann(site_with):
    """A site with limits, where Ann has logged in with an app (``token``) and a browser."""
    site = site_with(limits="on")
    site.user()
    site.own_token = site.login(site.client())["access_token"]
    sign_in(site)
    return site


def ask(site, password=PASSWORD, status=200):
    form = {"current_password": password} if password else {}
    return site.http.post_json(EXPORT, form, headers=bearer(site.own_token), status=status)


def client_token(site):
    keys = site.client("personal")
    form = keys.form(grant_type="client_credentials")
    return site.http.post("/v1/oauth/token", form).json["access_token"]


def last_event(site):
    with site.db() as db:
        return db.scalars(select(AuditEvent).order_by(AuditEvent.id.desc())).first()


def test_a_person_gets_the_same_data_as_an_administrator(ann):
    with ann.db() as db:
        user = db.scalars(select(User)).one()
        by_administrator = export_as_administrator(acting(db, ann.app.registry["authsite"]), user)
    answer = ask(ann)
    assert answer.headers["Cache-Control"] == "no-store"
    own = answer.json
    assert own.keys() == by_administrator.keys()
    assert own["user"] == by_administrator["user"]
    assert own["sign_ins_of_browsers"] == by_administrator["sign_ins_of_browsers"]
    assert len(own["audit_events"]) == len(by_administrator["audit_events"]) + 1


def test_the_audit_trail_says_who_exported_the_data(ann):
    with ann.db() as db:
        user = db.scalars(select(User)).one()
        export_as_administrator(acting(db, ann.app.registry["authsite"]), user)
    event = last_event(ann)
    assert (event.event, event.user_id) == ("user.exported", user.id)
    assert event.details == {"by": "administrator"}
    ask(ann)
    event = last_event(ann)
    assert event.details == {"by": "user", "session": str(ann.families()[0].id)}
    assert event.at <= clock.now()


def test_a_wrong_password_exports_nothing_and_counts_as_everywhere(ann):
    for _ in range(5):
        wrong = ask(ann, "wrong wrong 1", status=422).json
        assert [(each["field"], each["code"]) for each in wrong["errors"]] == [
            ("current_password", "invalid_password")
        ]
    ask(ann, status=429)
    ann.http.delete("/v1/user", {"current_password": PASSWORD}, bearer(ann.own_token), status=429)
    assert "user.exported" not in ann.events()
    with ann.db() as db:
        assert "limit.exceeded" not in db.scalars(select(AuditEvent.event)).all()


def test_without_a_password_the_field_is_named(ann):
    [error] = ask(ann, None, status=422).json["errors"]
    assert (error["field"], error["code"]) == ("current_password", "required")


def test_five_exports_a_day_succeed_and_the_page_counts_with_the_api(ann, frozen):
    ann.own_token = ann.login(ann.client())["access_token"]
    sign_in(ann)
    for _ in range(3):
        ask(ann)
        ask(ann, "wrong wrong 1", status=422)
    for _ in range(2):
        download(ann)
    refused = ask(ann, status=429)
    assert refused.json["errors"][0]["code"] == "too_many_attempts"
    assert 0 < int(refused.headers["Retry-After"]) <= 86400
    assert download(ann, status=429).content_type == "text/html"
    frozen.advance(86401)
    ann.own_token = ann.login(ann.client())["access_token"]
    ask(ann)


def test_neither_a_personal_token_nor_a_client_nor_a_stranger_exports_anything(ann):
    given = {"current_password": PASSWORD}
    personal = created(ann, ann.own_token)
    ann.http.post_json(EXPORT, given, headers=bearer(personal), status=403)
    granted = client_token(ann)
    ann.http.post_json(EXPORT, given, headers=bearer(granted), status=403)
    ann.http.post_json(EXPORT, given, status=401)
    assert "user.exported" not in ann.events()


def download(site, password=PASSWORD, status=200):
    answer = submit(site, "/account/export", page="/account", current_password=password)
    assert answer.status_int == status, answer
    return answer


def test_the_page_gives_the_data_as_an_attachment(ann):
    answer = download(ann)
    assert answer.content_type == "application/json"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="account-data.json"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json["user"]["email"] == "ann@example.com"
    assert last_event(ann).details["by"] == "user"
    wrong = download(ann, "wrong wrong 1", status=422)
    assert wrong.html.select_one("form[action$='/account/export'] [aria-invalid=true]")
    assert ann.http.get("/account/export").location.endswith("/account#export")
