"""Purging: what is deleted, what is not, and in which batches."""

from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import delete, insert, select, text, update

from authsite.oauth.models import Family
from authsite.platform.audit.models import AuditEvent
from authsite.platform.db import batches
from authsite.platform.db.batches import Batch
from authsite.platform.rate_limit.storage import DatabaseStorage, LimitCounter
from authsite.platform.runtime import clock
from authsite.platform.tasks.background import own_connection
from authsite.platform.tasks.cleanup import CLEANUPS, steps
from authsite.sign_in.sessions.models import BrowserSession
from tests.support.purging import purged
from tests.support.statements import counted

pytestmark = pytest.mark.control("D06")
DAY = 86400


def issued(site, count):
    """A client and ``count`` token pairs of it, one family each."""
    keys = site.client("personal")
    return keys, [site.token(keys, grant_type="client_credentials").json for _ in range(count)]


def small_batches(monkeypatch, rows=4):
    """A batch has at most this number of rows; on PostgreSQL one page, in a table scan."""
    monkeypatch.setattr(batches, "ROWS", rows)
    monkeypatch.setattr(batches, "ROWS", rows)
    monkeypatch.setattr(batches, "PAGES", 1)


def audit(site, **ages):
    """The rows of the audit trail: their events, with their age in days, the oldest first."""
    with site.db() as db:
        db.execute(delete(AuditEvent))
        db.execute(
            insert(AuditEvent),
            [
                {"at": clock.now() - timedelta(days=age), "event": event, "details": None}
                for event, age in ages.items()
            ],
        )


def test_a_token_of_a_purged_family_is_refused_like_one_that_never_was(site_with, frozen):
    site = site_with(expires_in="60m", refresh_expires_in="30d")
    keys, [old] = issued(site, 1)
    frozen.advance(30 * DAY + 1)
    _, [young] = issued(site, 1)
    assert purged(site) == {"families": 1}
    site.me(old["access_token"], status=401)
    assert site.refresh(keys, old["refresh_token"], 400)["error"] == "invalid_grant"
    site.me(young["access_token"], status=403)  # a client, not a user


def test_a_family_stays_while_one_of_its_tokens_works(site_with, frozen):
    site = site_with(expires_in="30d", refresh_expires_in="1d")
    _, [tokens] = issued(site, 1)
    frozen.advance(29 * DAY)
    assert purged(site) == {}
    site.me(tokens["access_token"], status=403)
    frozen.advance(DAY + 1)
    assert purged(site) == {"families": 1}


def test_a_revoked_family_stays_for_a_week(site, frozen):
    issued(site, 2)
    with site.db() as db:
        ids = select(Family.id).order_by(Family.created_at).limit(1).scalar_subquery()
        db.execute(update(Family).where(Family.id == ids).values(revoked_at=clock.now()))
    frozen.advance(7 * DAY - 1)
    assert purged(site) == {}
    frozen.advance(1)
    assert purged(site) == {"families": 1}
    assert len(site.families()) == 1


def test_a_session_goes_when_it_was_idle_or_old_for_too_long(site, frozen):
    user = site.user()
    now = clock.now()
    with site.db() as db:
        for number, (remember, idle, left) in enumerate(
            [(False, 12, 1), (False, 11, 1), (True, 12, 1), (True, 0, 0), (False, 0, 0)]
        ):
            db.add(
                BrowserSession(
                    id=UUID(int=number), key_hash=f"{number:064}", user_id=user.id, user_epoch=0,
                    remember=remember, auth_at=now, created_at=now,
                    used_at=now - timedelta(hours=idle), expires_at=now + timedelta(seconds=left),
                )
            )  # fmt: skip
    assert purged(site) == {"sessions": 3}
    with site.db() as db:
        assert {row.id for row in db.query(BrowserSession)} == {UUID(int=1), UUID(int=2)}


def test_counters_go_when_their_window_is_over(site, frozen):
    storage = DatabaseStorage(site.database)
    storage.incr("old", 60)
    storage.incr("young", 61)
    frozen.advance(60)
    assert purged(site) == {"counters": 1}
    assert storage.get("young") == 1


def test_the_audit_trail_stays_for_the_time_of_the_setting(site_with):
    site = site_with()
    audit(site, a=1000, b=365.1, c=364.9, d=0)
    assert purged(site) == {"audit": 2}
    assert site.events() == ["c", "d"]
    site = site_with(audit_keep="30d")
    audit(site, a=30.1, b=29.9)
    assert purged(site) == {"audit": 1}
    assert site.events() == ["b"]


def test_the_audit_trail_stays_forever_with_that_setting(site_with):
    site = site_with(audit_keep="forever")
    audit(site, a=36000, b=0)
    assert purged(site) == {}
    assert site.events() == ["a", "b"]


def test_a_purge_that_is_ended_anywhere_is_finished_by_the_next(site, frozen, monkeypatch):
    issued(site, 200)  # on PostgreSQL several pages
    small_batches(monkeypatch, rows=50)
    audit(site, **{f"a{number}": 400 for number in range(100)}, newest=0)
    with site.db() as db:
        db.execute(update(Family).values(refresh_expires_at=clock.now() - timedelta(days=1)))
    first = purged(site, enough=1)
    assert 0 < first["families"] < 200
    assert len(site.families()) == 200 - first["families"]
    second = purged(site)
    assert (first + second)["families"] == 200
    assert second["audit"] == 100


def test_no_batch_looks_at_more_rows_than_it_may_and_none_is_left_out(site, frozen, monkeypatch):
    small_batches(monkeypatch)
    storage = DatabaseStorage(site.database)
    for number in range(9):
        storage.incr(f"old{number}", 60)
    audit(site, **{f"a{number}": 411 - number // 3 for number in range(11)}, newest=0)
    frozen.advance(60)
    sizes = {name: [] for name in CLEANUPS.of(site.app.registry["authsite"])}
    with own_connection(site.database) as connection:
        for step in steps(connection, site.app.registry["authsite"]):
            sizes[step.cleanup.name].append(step.deleted)
    assert (sizes["counters"], sizes["audit"]) == ([4, 4, 1], [4, 4, 3, 0])


def test_progress_goes_from_nothing_to_all(site, monkeypatch):
    small_batches(monkeypatch, rows=20)
    issued(site, 200)
    audit(site, **{f"a{number}": 500 - number for number in range(100)}, newest=0)
    seen = {}
    with own_connection(site.database) as connection:
        for step in steps(connection, site.app.registry["authsite"]):
            seen.setdefault(step.cleanup.name, []).append(step.done)
    for name in ("families", "audit"):
        assert seen[name] == sorted(seen[name])
        assert 0 <= seen[name][0] < 0.5
        assert seen[name][-1] == 1
        assert len(seen[name]) > 2


@pytest.mark.both_databases
@pytest.mark.parametrize(("model", "name"), [(Family, "families"), (LimitCounter, "counters")])
def test_on_postgresql_a_row_that_is_locked_is_skipped(site, frozen, model, name):
    if site.database.autocommit.dialect.name != "postgresql":
        pytest.skip("SQLite has no locks of rows")
    issued(site, 2)
    for key in ("a", "b"):
        DatabaseStorage(site.database).incr(key, 60)
    frozen.advance(60)
    with site.db() as db:
        db.execute(update(Family).values(refresh_expires_at=clock.now() - timedelta(days=1)))
    with site.db() as db:
        # Waiting would end in an error, by lock_timeout.
        db.scalar(select(model).limit(1).with_for_update())
        deleted = purged(site)
        rest = purged(site)
    assert deleted == {"families": 2, "counters": 2, name: 1}
    assert rest == {}
    assert purged(site) == {name: 1}


def test_on_postgresql_a_batch_is_chosen_once_however_it_is_planned(site, frozen):
    if site.database.autocommit.dialect.name != "postgresql":
        pytest.skip("a matter of PostgreSQL alone")
    for number in range(9):
        DatabaseStorage(site.database).incr(f"old{number}", 60)
    frozen.advance(60)
    delete = batches.delete_overdue(LimitCounter.key, LimitCounter.expires_at, "postgresql")
    values = {"since": frozen.at - timedelta(days=1), "end": frozen.at, "at_most": 2}
    with own_connection(site.database) as connection:
        # All ways but the one that runs a subquery again for each row.
        for way in ("hashjoin", "mergejoin", "hashagg", "sort", "material", "indexscan",
                    "indexonlyscan", "bitmapscan", "memoize"):  # fmt: skip
            connection.exec_driver_sql(f"SET enable_{way} = off")
        assert [connection.execute(delete, values).rowcount for _ in range(5)] == [2, 2, 2, 2, 1]


def test_on_sqlite_the_lock_of_writers_is_not_taken_for_nothing(site):
    if site.database.autocommit.dialect.name != "sqlite":
        pytest.skip("a matter of SQLite alone")
    issued(site, 3)
    with counted(site.database) as statements:
        assert purged(site) == {}
    assert [each for each in statements if not each.startswith("SELECT")] == []


def test_on_postgresql_the_tables_are_read_page_by_page(site):
    if site.database.autocommit.dialect.name != "postgresql":
        pytest.skip("a matter of PostgreSQL alone")
    issued(site, 200)
    with site.db() as db:
        db.execute(text("ANALYZE families"))
    with counted(site.database) as statements:
        purged(site)
    [delete] = [each for each in statements if each.startswith("DELETE FROM families")]
    values = {"first": "(0,0)", "end": "(64,0)"}
    names = {"families_refresh_expires_at_1": clock.now(), "refresh_expires_at_1": clock.now(),
             "revoked_at_1": clock.now()}  # fmt: skip
    with site.database.autocommit.connect() as connection:
        connection.exec_driver_sql("SET enable_seqscan = off")  # three pages are too small a table
        plan = connection.exec_driver_sql(f"EXPLAIN {delete}", {**values, **names}).scalars().all()
        connection.invalidate()
    assert [line for line in plan if "Tid Range Scan on families" in line]
    assert [line for line in plan if "Tid Scan on families" in line]


def test_every_table_that_grows_without_end_has_a_cleanup(site):
    assert set(CLEANUPS.of(site.app.registry["authsite"])) == {
        "families", "personal_tokens", "sessions", "pending_logins", "mails", "former_addresses",
        "used_ids", "stored_requests", "counters", "audit", "signing_keys",
        "authorization_codes", "device_codes", "released_usernames", "remembered_browsers",
        "denied_requests", "users", "unconfirmed", "invitations", "unused_clients",
    }  # fmt: skip


def test_a_host_adds_a_cleanup_which_runs_with_the_others(host_with):
    def build(config):
        batches = lambda *_: iter([Batch(3, 0.5), Batch(2, 1.0)])  # noqa: E731  one expression
        config.add_cleanup("carts", "Shopping carts", batches, when="abandoned")

    host = host_with(build)
    assert purged(host)["carts"] == 5


def test_no_index_is_on_what_a_refresh_or_a_use_changes():
    changed = {"rotated_at", "generation", "refresh_expires_at", "scope", "rescoped", "used_at"}
    indexed = {column.name for index in Family.__table__.indexes for column in index.columns}
    assert indexed & changed == set()
