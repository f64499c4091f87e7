"""The outbox: a mail is a row, written with its cause, and sent by exactly one sender."""

import uuid
from datetime import timedelta

import pytest
from sqlalchemy import event, text

from authsite.platform.mail import leases, outbox
from authsite.platform.mail.leases import BATCH, LEASE, Outcome
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from tests.support.acting import acting
from tests.support.mails import link_in, put, row, rows, token_in
from tests.support.purging import purged
from tests.support.site import PASSWORD


def claimed(site, owner="one"):
    return leases.claim(site.database, clock.now(), owner)


def put_in_rolled_back_transaction(site):
    with site.db() as db:
        outbox.put(acting(db), outbox.NewMail("welcome", Recipient(None, "ann@example.com")))
        raise RuntimeError("the cause did not happen")


@pytest.mark.control("M01")
def test_a_mail_whose_cause_was_rolled_back_was_never_written(site):
    with pytest.raises(RuntimeError):
        put_in_rolled_back_transaction(site)
    assert rows(site) == []


@pytest.mark.control("M01")
def test_a_committed_request_has_exactly_one_row_with_everything_but_the_link(site):
    user = site.user()
    requested = {"email": user.email, "reset_url": "http://localhost/password/reset"}
    site.http.post_json("/v1/password/forgot", requested, headers={"Accept-Language": "de"})

    [only] = [each for each in rows(site) if each.kind == "reset"]
    assert (only.user_id, only.address, only.language) == (user.id, user.email, "de")
    assert (only.page_url, only.base_url) == (requested["reset_url"], "http://localhost")
    assert (only.state, only.delivery_attempts) == ("waiting", 0)
    [mail] = [each for each in site.mails() if "password/reset" in link_in(each)]
    token = token_in(link_in(mail))
    with site.db() as db:
        stored = db.execute(text("SELECT * FROM outbox")).all()
    assert token
    assert token not in str(stored)


@pytest.mark.control("M03")
@pytest.mark.parametrize(
    "address",
    [
        "ann@example.com\r\nBcc: eve@evil.example", "ann@example.com, eve@evil.example",
        "a@b.example,d@e.example", "Ann <ann@example.com>", "ann@example.com\0", "ann＠example.com",
        '"ann eve"@example.com', "ann@exam ple.com", "(x)ann@example.com", "ann", "@example.com",
        "",
    ],
)  # fmt: skip
def test_what_is_not_one_plain_address_is_not_put_in(site, address):
    with pytest.raises(ValueError, match="one plain e-mail address"):
        put(site, address=address)
    assert rows(site) == []


def test_erasing_a_user_erases_what_was_or_is_to_be_sent_to_them(site):
    user, other = uuid.uuid4(), put(site, user_id=uuid.uuid4())
    put(site, user_id=user)
    put(site, user_id=user)
    with site.db() as db:
        outbox.erase(db, user)
    assert [each.id for each in rows(site)] == [other]


def test_deleting_an_account_leaves_none_of_its_addresses_in_the_outbox(site):
    keys, user = site.client(), site.user(confirmed=True)
    put(site, user_id=user.id, address=user.email)
    token = site.login(keys)["access_token"]
    site.http.delete_json(
        "/v1/user", {"current_password": PASSWORD},
        headers={"Authorization": f"Bearer {token}"}, status=204,
    )  # fmt: skip
    assert [each for each in rows(site) if each.user_id == user.id] == []


def test_two_senders_never_have_the_same_mail(site):
    ids = {put(site) for _ in range(BATCH + 5)}
    first, second, third = claimed(site, "one"), claimed(site, "two"), claimed(site, "three")
    assert (len(first), len(second), len(third)) == (BATCH, 5, 0)
    assert {each.id for each in first} | {each.id for each in second} == ids


def test_the_longest_waiting_comes_first(site, frozen):
    ids = []
    for _ in range(3):
        ids.append(put(site))
        frozen.advance(1)
    assert [each.id for each in claimed(site)] == ids


def test_what_a_killed_sender_held_is_free_after_a_minute_and_not_before(site, frozen):
    id_ = put(site)
    claimed(site, "killed")
    frozen.advance(LEASE.total_seconds() - 1)
    assert claimed(site, "other") == []
    frozen.advance(2)
    assert [each.id for each in claimed(site, "other")] == [id_]


def test_a_lease_can_be_renewed_until_another_sender_has_it(site, frozen):
    id_ = put(site)
    claimed(site, "slow")
    frozen.advance(50)
    assert leases.renew(site.database, clock.now(), "slow", id_)
    frozen.advance(50)
    assert claimed(site, "other") == []
    frozen.advance(11)
    claimed(site, "other")
    assert not leases.renew(site.database, clock.now(), "slow", id_)


def test_a_mail_is_marked_as_sent_even_by_a_sender_whose_lease_was_lost(site, frozen):
    id_ = put(site)
    claimed(site, "slow")
    frozen.advance(61)
    claimed(site, "other")
    leases.record_outcomes(site.database, "slow", [Outcome(id_, "sent", clock.now())])
    assert row(site, id_).state == "sent"
    assert not leases.renew(site.database, clock.now(), "other", id_)


def test_no_other_sender_can_declare_a_mail_dead(site, frozen):
    id_ = put(site)
    claimed(site, "slow")
    frozen.advance(61)
    claimed(site, "other")
    leases.record_outcomes(site.database, "slow", [Outcome(id_, "dead", clock.now(), "no")])
    assert row(site, id_).state == "waiting"


def test_what_was_let_go_can_be_claimed_at_once(site):
    id_ = put(site)
    claimed(site, "stopped")
    leases.release(site.database, "stopped", [id_])
    assert [each.id for each in claimed(site, "other")] == [id_]


def test_a_sender_that_failed_takes_up_again_what_it_still_holds(site):
    id_ = put(site)
    claimed(site, "one")
    assert [each.id for each in claimed(site, "one")] == [id_]


def test_asking_what_is_due_reads_the_index_of_what_waits(site):
    """The question that every sender asks every second must not grow with what was sent."""
    executed = []

    def remember(_connection, _cursor, statement, parameters, _context, _many):
        executed.append((statement, parameters))

    event.listen(site.database.autocommit, "before_cursor_execute", remember)
    assert claimed(site) == []
    event.remove(site.database.autocommit, "before_cursor_execute", remember)
    [(statement, parameters)] = executed
    with site.database.autocommit.connect() as connection:
        if site.url.startswith("postgresql"):
            connection.exec_driver_sql("SET enable_seqscan = off")  # the table is all but empty
            explain = "EXPLAIN"
        else:
            explain = "EXPLAIN QUERY PLAN"
        plan = connection.exec_driver_sql(f"{explain} {statement}", parameters).all()
        connection.invalidate()
    assert "ix_outbox_due" in str(plan)


def test_a_server_s_reply_is_stored_as_one_short_printable_line(site):
    id_ = put(site)
    claimed(site)
    words = "550 no\r\nsuch\x1b[31m mailbox " + "x" * 500
    leases.record_outcomes(site.database, "one", [Outcome(id_, "dead", clock.now(), words)])
    stored = row(site, id_).last_error
    assert stored.startswith("550 no such [31m mailbox xxx")
    assert stored.isprintable()
    assert len(stored) == 200


def test_purging_deletes_what_ended_a_week_ago_and_the_dead_after_a_month(site, frozen):
    states = {put(site): state for state in ("sent", "expired", "dead")}
    waiting = put(site)
    held = claimed(site)
    outcomes = [
        Outcome(each.id, states[each.id], clock.now()) for each in held if each.id != waiting
    ]
    leases.record_outcomes(site.database, "one", outcomes)

    def left():
        purged(site)
        return sorted(each.state for each in rows(site))

    frozen.advance(timedelta(days=6, hours=23).total_seconds())
    assert left() == ["dead", "expired", "sent", "waiting"]
    frozen.advance(timedelta(hours=2).total_seconds())
    assert left() == ["dead", "waiting"]
    frozen.advance(timedelta(days=30).total_seconds())
    assert left() == ["waiting"]
