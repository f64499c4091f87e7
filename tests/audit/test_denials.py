"""Security events that change nothing: denials and replays, recorded within bounds (M9)."""

import ast
from pathlib import Path
from uuid import UUID, uuid4

import pytest

import authsite
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.service import pseudonym
from tests.support.mails import link_in
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, WEB, ClientKeys, bearer


@pytest.fixture
def site(site_with, frozen):
    """A site with limits, the web client and Ann, and an audit trail that begins now."""
    made = site_with(limits="on", login_identifiers="email username", **WEB)
    made.keys = made.first_party("web")
    made.ann = made.user(username="annlee")
    with made.db() as db:
        db.query(AuditEvent).delete()
    return made


def rows(site, event):
    with site.db() as db:
        return db.query(AuditEvent).filter_by(event=event).order_by(AuditEvent.id).all()


def wrong_secret(site, **where):
    form = ClientKeys(site.keys.client_id, "x" * 43).form(grant_type="client_credentials")
    site.http.post("/v1/oauth/token", form, status=401, **where)


def unknown_client(site, **where):
    form = ClientKeys(str(uuid4()), "x" * 43).form(grant_type="client_credentials")
    site.http.post("/v1/oauth/token", form, status=401, **where)


def wrong_reset_token(site, **where):
    body = {"email": "ann@example.com", "token": "x" * 64, "password": "purple wolf 77 tea"}
    site.http.post_json("/v1/password/reset", body, status=422, **where)


def forged_link(site, **where):
    path = f"/v1/email/verify/{site.ann.id}/{'0' * 64}?expires=9999999999&signature={'0' * 64}"
    site.http.get(path, status=403, **where)


def foreign_origin(site, **where):
    form = {"username": "ann@example.com", "password": PASSWORD}
    headers = {"Origin": "https://evil.example"}
    site.http.post("/v1/clients/web/login", form, headers=headers, status=403, **where)


def foreign_form(site, **where):
    site.http.reset()
    form = {"username": "ann@example.com", "password": PASSWORD, "csrf_token": "0" * 64}
    site.http.post("/login", form, status=403, **where)


DENIALS = {
    "client.rejected": wrong_secret,
    "recovery.refused": wrong_reset_token,
    "verification.refused": forged_link,
    "proxy.cross_origin": foreign_origin,
    "form.cross_origin": foreign_form,
}


@pytest.mark.control("G01")
@pytest.mark.parametrize("event", DENIALS)
def test_m9_a_denial_is_recorded_once_an_hour_for_each_address(site, frozen, event):
    """M9: the row is written although the answer is an error, and no one can fill the table."""
    for _ in range(4):
        DENIALS[event](site)
    [row] = rows(site, event)
    assert (row.address, row.user_id) == ("192.0.2.1", None)
    assert row.request_id
    DENIALS[event](site, extra_environ={"REMOTE_ADDR": "198.51.100.7"})
    assert [row.address for row in rows(site, event)] == ["192.0.2.1", "198.51.100.7"]
    frozen.advance(3600)
    DENIALS[event](site)
    assert len(rows(site, event)) == 3


def test_m9_a_wrong_secret_names_the_client_if_there_is_one(site):
    """M9: a client that exists is named; made-up ids are one row."""
    for _ in range(3):
        wrong_secret(site)
        unknown_client(site)
    found = [row.client_id for row in rows(site, "client.rejected")]
    assert found == [UUID(site.keys.client_id), None]


def test_m9_a_replay_within_the_grace_is_on_record_and_a_refresh_is_not(site):
    """M9: a thief's first use looks like a request that was sent twice."""
    tokens = site.login(site.keys)
    second = site.refresh(site.keys, tokens["refresh_token"])
    before = site.events()
    for _ in range(3):
        assert site.refresh(site.keys, tokens["refresh_token"]) == second
    [row] = rows(site, "token.replayed")
    [family] = site.families()
    assert (row.user_id, row.details) == (site.ann.id, {"family": str(family.id)})
    assert site.events() == [*before, "token.replayed"]
    assert "token.refreshed" not in before


def test_m9_a_change_records_which_login_name_changed(site):
    """M9: the details name the fields, never their values."""
    headers = bearer(site.login(site.keys)["access_token"])
    for fields in (
        {"username": "annlee", "name": "Ann"},
        {"username": "anna-lee"},
        {"username": "", "name": ""},
    ):
        site.http.patch_json("/v1/user", fields, headers=headers)
    changed = [row.details["changed"] for row in rows(site, "user.changed")]
    assert changed == ["name", "username", "name username"]


def test_m9_a_change_of_address_names_both_by_pseudonym(site):
    """M9: old and new address can be compared, and not read."""
    headers = bearer(site.login(site.keys)["access_token"])
    site.mails()
    body = {"email": "New@example.com", "current_password": PASSWORD}
    site.http.put_json("/v1/user/email", body, headers=headers)
    [mail] = [mail for mail in site.mails() if mail["To"] == "New@example.com"]
    sign_in(site)
    site.http.get(link_in(mail)).forms[0].submit()
    [row] = rows(site, "email.changed")
    assert row.details == {
        "old": pseudonym("ann@example.com"),
        "new": pseudonym("new@example.com"),
    }


def test_a_limit_is_recorded_once_in_each_window_that_is_exceeded(site_with, frozen):
    site = site_with(
        limits="on", limits_forgot_address="2/hour", limits_forgot_email="1/hour, 3/day", **WEB
    )
    site.user()

    def forgot(address="ann@example.com", status=202):
        body = {"email": address, "reset_url": "http://localhost/password/reset"}
        site.http.post_json("/v1/password/forgot", body, status=status)

    def exceeded():
        return [row.details["limit"] for row in rows(site, "limit.exceeded")]

    forgot()
    assert exceeded() == []
    forgot()  # over the limit of the address, which the answer does not tell
    assert exceeded() == ["forgot-email"]
    for _ in range(3):
        forgot(status=429)
    assert exceeded() == ["forgot-email", "forgot-address"]
    assert len({row.details["subject"] for row in rows(site, "limit.exceeded")}) == 2
    assert "ann@" not in str([row.details for row in rows(site, "limit.exceeded")])
    frozen.advance(3600)
    forgot()
    forgot()
    assert exceeded() == ["forgot-email", "forgot-address", "forgot-email"]


def members():
    """The events that the code names, but for their list."""
    for path in Path(authsite.__file__).parent.rglob("*.py"):
        if path.name != "events.py":
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "Event":
                    yield node.attr


def test_every_event_is_recorded_somewhere():
    assert {event.name for event in Event} <= set(members())
