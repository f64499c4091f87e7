"""Accounts that someone registered and no one has used: they end with `purge-unconfirmed`."""

import pytest
from sqlalchemy import insert, select, update

from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.users import service
from authsite.users.groups.labels import GroupMember
from authsite.users.models import User
from tests.support.purging import purged

pytestmark = pytest.mark.both_databases

DAY = 24 * 3600
PASSWORD = "purple wolf 77 tea"


def register(site, email="bo@example.com", status=201, **more):
    return site.http.post_json(
        "/v1/register", {"email": email, "password": PASSWORD, **more}, status=status
    )


def row(site, email="bo@example.com"):
    with site.db() as db:
        return db.scalar(select(User).where(User.email == email))


@pytest.fixture
def site(site_with):
    return site_with(purge_unconfirmed="30d")


def test_an_account_that_no_one_used_ends_after_the_time_and_its_address_is_free(site, frozen):
    register(site, username="strangers", name="A Stranger")
    frozen.advance(30 * DAY - 1)
    assert "unconfirmed" not in purged(site)
    frozen.advance(2)
    assert purged(site)["unconfirmed"] == 1
    assert row(site) is None
    with site.db() as db:
        [event] = db.scalars(select(AuditEvent).where(AuditEvent.event == "user.erased"))
        assert event.details == {"why": "unconfirmed"}
    # Also the username: no application has ever got it.
    register(site, username="strangers")


def test_it_is_off_by_default(site_with, frozen):
    site = site_with()
    register(site)
    frozen.advance(3650 * DAY)
    assert "unconfirmed" not in purged(site)
    assert row(site)


def test_who_has_signed_in_stays_in_either_way(site, frozen):
    register(site)
    register(site, "di@example.com")
    site.login(site.client("password"), "bo@example.com", PASSWORD)
    form = site.http.get("/login").forms[0]
    form["username"], form["password"] = "di@example.com", PASSWORD
    form.submit(status=303)
    frozen.advance(31 * DAY)
    assert "unconfirmed" not in purged(site)
    assert row(site).last_sign_in_at == row(site, "di@example.com").last_sign_in_at is not None


@pytest.mark.parametrize(
    "values",
    [
        {"email_verified_at": clock.now()},
        *({"origin": each} for each in ("imported", "command", "invited", "provider")),
    ],
)
def test_who_is_confirmed_or_was_brought_by_others_stays(site, frozen, values):
    register(site)
    with site.db() as db:
        db.execute(update(User).values(values))
    frozen.advance(31 * DAY)
    assert "unconfirmed" not in purged(site)


def test_a_member_of_a_group_stays(site, frozen):
    register(site)
    values = {"user_id": row(site).id, "group_name": "authsite:support", "created_at": clock.now()}
    with site.db() as db:
        db.execute(insert(GroupMember).values(values))
    frozen.advance(31 * DAY)
    assert "unconfirmed" not in purged(site)


def test_many_are_erased_in_batches_and_what_stays_is_passed_by_once(site, frozen, monkeypatch):
    monkeypatch.setattr(service, "DUE", 2)
    for number in range(7):
        register(site, f"u{number}@example.com")
        frozen.advance(1)
    with site.db() as db:
        db.execute(
            update(User)
            .where(User.email.in_(["u0@example.com", "u3@example.com"]))
            .values(last_sign_in_at=clock.now())
        )
    frozen.advance(31 * DAY)
    assert purged(site)["unconfirmed"] == 5
    with site.db() as db:
        assert sorted(db.scalars(select(User.email))) == ["u0@example.com", "u3@example.com"]


def test_a_sign_in_is_stored_once_an_hour(site, frozen):
    register(site)
    keys, moments = site.client("password"), []
    for seconds in (0, 3599, 2):
        frozen.advance(seconds)
        site.login(keys, "bo@example.com", PASSWORD)
        moments.append(row(site).last_sign_in_at)
    assert moments[0] == moments[1]
    assert (moments[2] - moments[0]).total_seconds() == 3601


def test_a_refresh_is_no_sign_in(site, frozen):
    register(site)
    keys = site.client("password")
    pair = site.login(keys, "bo@example.com", PASSWORD)
    before = row(site).last_sign_in_at
    frozen.advance(2 * 3600)
    site.refresh(keys, pair["refresh_token"])
    assert row(site).last_sign_in_at == before
