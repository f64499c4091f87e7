"""The outcomes of a mail: sent, retried, dropped or dead, independent of other mails."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest
from sqlalchemy import update
from sqlalchemy.exc import SQLAlchemyError
from structlog.testing import capture_logs

from authsite.platform.mail import leases
from authsite.platform.mail.message import MAIL_BUILDERS, MailContent
from authsite.platform.mail.outbox import OutboxMessage, facts
from authsite.platform.mail.sender import make_job, open_sender, send_batch
from authsite.platform.mail.transports import Unreachable
from authsite.platform.runtime import clock
from authsite.platform.runtime.counters import MAILS, counted
from tests.support.mails import put, row, send_all
from tests.support.smtp import mail_server


@pytest.fixture(scope="module")
def smtp():
    with mail_server() as server:
        yield server


@pytest.fixture
def site(site_with, smtp):
    """A site that sends to `smtp`, with a mail that needs no user."""
    smtp.mode = "ok"
    smtp.per_address.clear()
    smtp.taken.clear()
    smtp.dropped.clear()
    site = site_with(
        mail_driver="smtp",
        smtp_url=f"smtp://127.0.0.1:{smtp.port}",
        base_url="http://localhost",
    )
    builders = MAIL_BUILDERS.of(site.app.registry["authsite"])
    builders["note"] = lambda job: MailContent("welcome", "https://example.com/page")
    builders["needless"] = lambda job: None
    builders["broken"] = lambda job: 1 / 0
    return site


def send(site):
    """Send one batch; the error of the server if there is one."""
    try:
        send_batch(open_sender(site.app.registry["authsite"]), Event(), Counter())
    except Unreachable as error:
        return str(error)
    return None


def test_a_mail_is_sent_once_and_marked_as_sent(site, smtp):
    id_ = put(site, "note")
    assert send_all(site.app.registry) == {"sent": 1}
    assert send_all(site.app.registry) == {}
    assert [address for address, _ in smtp.taken] == ["ann@example.com"]
    sent = row(site, id_)
    assert (sent.state, sent.delivery_attempts, sent.lease_owner) == ("sent", 1, None)
    assert sent.ended_at is not None


@pytest.mark.control("M05")
def test_a_mail_whose_link_has_expired_is_dropped_not_sent_late(site, smtp, frozen):
    late = put(site, "note", expires_at=clock.now() + timedelta(minutes=60))
    frozen.advance(3600)
    assert send_all(site.app.registry) == {"expired": 1}
    assert smtp.taken == []
    assert row(site, late).last_error == "its link would not work any more"


def test_a_mail_with_a_second_left_is_sent(site, smtp, frozen):
    put(site, "note", expires_at=clock.now() + timedelta(minutes=60))
    frozen.advance(3599)
    assert send_all(site.app.registry) == {"sent": 1}


def test_a_mail_that_is_not_needed_any_more_is_dropped(site, smtp):
    id_ = put(site, "needless")
    assert send_all(site.app.registry) == {"expired": 1}
    assert smtp.taken == []
    assert row(site, id_).last_error == "not needed any more"


@pytest.mark.control("M05")
def test_a_refused_recipient_is_dead_at_once_with_the_reason(site, smtp):
    smtp.mode = "refuse"
    id_ = put(site, "note")
    with capture_logs() as logs:
        assert send_all(site.app.registry) == {"dead": 1}
    assert [line["reason"] for line in logs] == ["550 5.1.1 No such mailbox"]
    dead = row(site, id_)
    assert (dead.state, dead.delivery_attempts) == ("dead", 1)
    assert dead.last_error == "refused: 550 5.1.1 No such mailbox"


def test_a_rejected_sender_makes_mails_wait_and_the_servers_words_are_seen(site, smtp):
    smtp.mode = "sender"
    id_ = put(site, "note")
    with capture_logs() as logs:
        assert send_all(site.app.registry) == {"waiting": 1}
    words = "553 5.7.1 <a…@example.com>: Sender address rejected: not owned by user"
    [line] = [line for line in logs if line["event"] == "mail_sender_rejected"]
    assert (line["log_level"], line["mail"], line["reason"]) == ("warning", str(id_), words)
    [listed] = [facts(row(site, id_))]
    assert (listed["state"], listed["last_error"]) == ("failed", f"we may not send: {words}")
    smtp.mode = "ok"
    with site.db() as db:
        db.execute(update(OutboxMessage).values(next_attempt_at=clock.now()))
    assert send_all(site.app.registry) == {"sent": 1}


@pytest.mark.control("M05")
def test_a_recipient_that_is_put_off_is_tried_ever_more_rarely_and_dead_after_a_day(
    site, smtp, frozen
):
    smtp.mode = "4xx"
    id_, start = put(site, "note"), clock.now()
    waits, ages = [], []
    while (now := row(site, id_)).state == "waiting":
        frozen.at = max(frozen.at, now.next_attempt_at)
        before = clock.now()
        assert send(site) is None
        assert len(waits) < 150
        waits.append(row(site, id_).next_attempt_at - before)
        ages.append(before - start)
    assert now.last_error == "given up after 24 hours: not now: 451 4.3.0 Try again later"
    assert timedelta(hours=24) <= ages[-1] <= timedelta(hours=25.2)
    assert timedelta(seconds=8) <= waits[0] <= timedelta(seconds=12)
    assert timedelta(minutes=48) <= waits[-2] <= timedelta(minutes=72)
    early = [wait for age, wait in zip(ages, waits, strict=True) if age < timedelta(minutes=10)]
    assert max(early) <= timedelta(seconds=48)  # delivered within a minute of a change of mind
    assert len(set(waits)) > len(waits) * 0.9  # jitter


def test_one_deferred_recipient_delays_no_other(site, smtp):
    smtp.per_address["slow@example.com"] = "4xx"
    for address in ("slow@example.com", "ann@example.com", "bo@example.com"):
        put(site, "note", address)
    assert send_all(site.app.registry) == {"sent": 2, "waiting": 1}


def test_a_mail_that_cannot_be_made_delays_no_other_and_is_retried(site, smtp):
    broken, unknown, _fine = (
        put(site, "broken"),
        put(site, "from a newer version"),
        put(site, "note"),
    )
    assert send_all(site.app.registry) == {"sent": 1, "waiting": 2}
    assert row(site, broken).last_error == "ZeroDivisionError, see the log"
    assert "has no mail 'from a newer version'" in row(site, unknown).last_error


def test_when_the_server_is_away_one_mail_finds_out_and_the_rest_stay_untouched(site, smtp, frozen):
    smtp.mode = "refuse all"
    ids = [put(site, "note") for _ in range(3)]
    assert "530" in send(site)
    tried = [row(site, id_) for id_ in ids if row(site, id_).delivery_attempts]
    assert len(tried) == 1
    assert all(row(site, id_).lease_owner is None for id_ in ids)
    smtp.mode = "ok"
    frozen.advance(5)
    assert send_all(site.app.registry) == {"sent": 3}


def test_after_an_hour_without_a_server_a_mail_leaves_within_a_minute_of_its_return(
    site, smtp, frozen
):
    smtp.mode = "refuse all"
    id_, start = put(site, "note"), clock.now()
    while clock.now() - start < timedelta(hours=1):
        frozen.at = row(site, id_).next_attempt_at
        assert send(site) is not None
    assert row(site, id_).next_attempt_at - clock.now() <= timedelta(seconds=36)
    assert row(site, id_).state == "waiting"


def test_without_a_server_for_a_day_a_mail_is_dead_and_stays_listed(site, smtp, frozen):
    smtp.mode = "refuse all"
    id_, before = put(site, "note"), counted()[MAILS.name]
    send(site)
    frozen.advance(24 * 3600)
    send(site)
    assert row(site, id_).state == "dead"
    # Each attempt is counted, also that which finds no server: an alert waits for the dead ones.
    grown = {
        state: n - dict(before).get((state,), [0])[0] for (state,), [n] in counted()[MAILS.name]
    }
    assert (grown["waiting"], grown["dead"]) == (1, 1)


@pytest.mark.control("M01")
def test_a_server_that_hung_up_after_the_mail_gets_it_again_under_the_same_message_id(
    site, smtp, frozen
):
    smtp.mode = "drop"
    put(site, "note")
    assert send(site) is not None
    smtp.mode = "ok"
    frozen.advance(5)
    assert send_all(site.app.registry) == {"sent": 1}
    [(_, first)], [(_, second)] = smtp.dropped, smtp.taken

    def message_id(raw):
        [line] = [line for line in raw.splitlines() if line.startswith(b"Message-ID:")]
        return line

    assert message_id(first) == message_id(second)


def test_a_server_that_hangs_up_after_its_yes_has_the_mail_and_gets_no_second(site, smtp, frozen):
    smtp.mode = "drop after ok"
    put(site, "note")
    assert send_all(site.app.registry) == {"sent": 1}
    frozen.advance(600)
    assert send_all(site.app.registry) == {}
    assert len(smtp.taken) == 1


def test_a_sender_that_stops_releases_the_mails_that_it_has_not_begun(site, smtp):
    id_ = put(site, "note")
    stop = Event()
    stop.set()
    send_batch(open_sender(site.app.registry["authsite"]), stop, Counter())
    assert smtp.taken == []
    assert row(site, id_).lease_owner is None


def test_a_sender_whose_lease_was_lost_on_the_way_does_not_send(site, smtp, frozen):
    """The clock jumps while the mail is made: another sender claims it."""
    id_ = put(site, "note")

    def slow(job):
        frozen.advance(61)
        assert [each.id for each in other_claim(site)] == [id_]
        return MailContent("welcome")

    MAIL_BUILDERS.of(site.app.registry["authsite"])["note"] = slow
    assert send(site) is None
    assert smtp.taken == []
    assert row(site, id_).lease_owner == "other"


def test_what_was_sent_while_the_database_broke_is_marked_later_and_not_sent_again(site, smtp):
    id_, sender = put(site, "note"), open_sender(site.app.registry["authsite"])

    def rename(old, new):
        with site.database.transactional.begin() as connection:
            connection.exec_driver_sql(f"ALTER TABLE {old} RENAME TO {new}")

    def break_the_database(_job):
        rename("outbox", "elsewhere")
        return MailContent("welcome")

    MAIL_BUILDERS.of(site.app.registry["authsite"])["note"] = break_the_database
    with pytest.raises(SQLAlchemyError):
        send_batch(sender, Event(), Counter())
    with pytest.raises(SQLAlchemyError):
        send_batch(sender, Event(), Counter())
    rename("elsewhere", "outbox")
    assert row(site, id_).state == "waiting"
    assert send_batch(sender, Event(), Counter()) == 0
    assert row(site, id_).state == "sent"
    assert len(smtp.taken) == 1


def test_processes_that_were_forked_from_one_send_each_mail_once(site, smtp):
    """`gunicorn --preload` forks after `make_job`; a thread stands for each process."""
    made, begun, go_on = [], Event(), Event()

    def slow(_job):
        made.append(1)
        begun.set()
        assert len(made) > 1 or go_on.wait(60)
        return MailContent("welcome")

    MAIL_BUILDERS.of(site.app.registry["authsite"])["slow"] = slow
    job = make_job(site.app.registry["authsite"])
    put(site, "slow")
    with ThreadPoolExecutor(2) as processes:
        try:
            processes.submit(job.run)
            assert begun.wait(60)
            processes.submit(job.run)
            put(site, "note", "bob@example.com")
            smtp.wait(1, 60)
        finally:
            go_on.set()
            job.stop()
    assert [address for address, _ in smtp.taken] == ["bob@example.com", "ann@example.com"]


def other_claim(site):
    return leases.claim(site.database, clock.now(), "other")
