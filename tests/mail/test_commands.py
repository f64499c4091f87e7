"""``authsite mail list`` and ``authsite mail retry``."""

import json
from threading import Event

import click
import pytest
from click.testing import CliRunner

from authsite.admin.mail.cli import _send_due
from authsite.cli import authsite
from authsite.platform.mail import leases
from authsite.platform.mail.leases import Outcome
from authsite.platform.mail.outbox import shortened
from authsite.platform.mail.sender import open_sender
from authsite.platform.runtime import clock
from tests.support.mails import put, row, send_all
from tests.support.servers import write_ini


@pytest.fixture
def run(site, tmp_path):
    """Runs ``authsite mail …`` on the database of ``site``."""
    ini = write_ini(tmp_path, site.url)

    def command(*arguments):
        return CliRunner().invoke(authsite, ["mail", *arguments, "--config", str(ini)])

    return command


def record(site, id_, state, **more):
    now = clock.now()
    held = leases.claim(site.database, now, "test")
    leases.record_outcomes(site.database, "test", [Outcome(id_, state, now, **more)])
    leases.release(site.database, "test", [each.id for each in held])


def listed(run, *arguments):
    return json.loads(run("list", "--json", *arguments).stdout)


def test_mails_are_listed_by_state_and_address(site, run):
    dead, waiting = put(site, address="ann_x@example.com"), put(site, address="bo@example.com")
    record(site, dead, "dead", error="refused: 550 no")

    def ids(*filters):
        found = listed(run, *filters)
        return [mail["id"] for mail in found["mails"]], found["total"]

    assert ids() == ([str(dead), str(waiting)], 2)
    assert ids("--limit", "1") == ([str(dead)], 2)
    assert ids("--dead") == ([str(dead)], 1)
    assert ids("--email", "BO@") == ([str(waiting)], 1)
    assert ids("--email", "n_x") == ([str(dead)], 1)
    assert ids("--email", "n%x") == ([], 0)
    assert "No mail matches." in run("list", "--email", "nobody").stdout


def test_an_empty_outbox_says_so(run):
    assert run("list").stdout == "No mail waits, and none is dead.\n"
    assert listed(run) == {"mails": [], "total": 0}


def test_the_dead_the_failed_and_the_waiting_are_listed_and_nothing_else(site, run):
    dead, failed, waiting, sent = (put(site) for _ in range(4))
    record(site, dead, "dead", error="refused: 550 no")
    record(site, failed, "waiting", error="not now: 451", next_attempt_at=row(site, dead).ended_at)
    record(site, sent, "sent")
    mails = {mail["id"]: mail for mail in listed(run)["mails"]}
    assert mails.keys() == {str(dead), str(failed), str(waiting)}
    facts = mails[str(dead)]
    assert facts.pop("created_at").endswith("Z")
    assert facts == {
        "id": str(dead), "letter": "password_changed", "to": "a…@example.com", "state": "dead",
        "attempts": 1, "last_error": "refused: 550 no", "next_attempt_at": None,
    }  # fmt: skip
    assert mails[str(failed)]["state"] == "failed"
    assert mails[str(failed)]["next_attempt_at"].endswith("Z")
    assert mails[str(waiting)]["state"] == "waiting"


def test_the_table_shows_no_whole_address_and_how_many_it_leaves_out(site, run):
    ids = [put(site, address="somebody@example.com") for _ in range(3)]
    table = run("list", "--limit", "2").stdout
    assert sum(str(id_) in table for id_ in ids) == 2
    assert "1 more" in table
    assert "somebody" not in table
    assert listed(run, "--limit", "2")["total"] == 3


def test_retry_gives_one_dead_mail_another_day(site, run):
    user = site.user()
    first, second = (put(site, user_id=user.id) for _ in range(2))
    for id_ in (first, second):
        record(site, id_, "dead", error="refused: 550 no")
    assert run("retry", str(first)).exit_code == 0
    assert (row(site, first).state, row(site, second).state) == ("waiting", "dead")
    assert send_all(site.app.registry)["sent"] == 1
    assert row(site, first).state == "sent"


def test_retry_all_takes_all_the_dead_and_no_other(site, run):
    dead, sent = put(site), put(site)
    record(site, dead, "dead")
    record(site, sent, "sent")
    assert "1" in run("retry", "--all").stdout
    assert (row(site, dead).state, row(site, sent).state) == ("waiting", "sent")


def test_retry_of_a_mail_that_is_not_dead_is_an_error_with_advice(site, run):
    done = run("retry", str(put(site)))
    assert done.exit_code == 1
    assert "authsite mail list" in done.output


@pytest.mark.parametrize("wrong", [[], ["--all", "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"], ["x"]])
def test_retry_used_wrongly_has_status_2(run, wrong):
    assert run("retry", *wrong).exit_code == 2


@pytest.mark.parametrize(
    ("address", "short"),
    [("ann@example.com", "a…@example.com"), ("a@b.example", "a…@b.example")],
)
def test_a_shortened_address_shows_its_first_character_and_the_domain(address, short):
    assert shortened(address) == short


def test_a_send_that_cannot_leave_names_the_setting_to_check(site_with, tmp_path):
    not_a_folder = tmp_path / "file"
    not_a_folder.touch()
    site = site_with(mail_driver="file", mail_folder=str(not_a_folder / "mails"))
    put(site, "welcome", user_id=site.user().id)
    sender = open_sender(site.app.registry["authsite"])
    with pytest.raises(click.ClickException, match=r"Check authsite\.mail-folder\."):
        _send_due(sender, Event(), as_json=False)
