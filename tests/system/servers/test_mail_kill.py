"""Reliability R9 and R10: senders that are killed, servers that fail, and no mail lost.

Bounded for every day; ``python -m bench.mail_kill`` does the same for minutes and waits leases out.
"""

import time

import pytest

from tests.support.extent import volume
from tests.support.senders import copies, new_outbox, seeded, senders
from tests.support.smtp import mail_server

MAILS = volume(300, 500)
REFUSED = MAILS // 50


# SQLite has one writer, and so no race of two senders for a mail.
@pytest.mark.slow
@pytest.mark.control("M01")
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_mails_survive_two_senders_that_are_killed_at_random(fresh_url, tmp_path):
    with mail_server() as server:
        box = new_outbox(tmp_path, fresh_url, server.port)
        addresses = box.fill(MAILS)
        refused = set(addresses[::50])
        server.per_address = dict.fromkeys(refused, "refuse")
        server.pause = 0.01  # a wide gap between the mail and its mark: kills fall into it
        with senders(box.ini) as running:
            deadline = time.monotonic() + 15
            running.kill_at_random(
                seeded(3), pause=0.5,
                until=lambda: not box.states()["waiting"] or time.monotonic() > deadline,
            )  # fmt: skip
            running.kill_all()
        box.free_what_the_dead_held()
        server.pause = 0
        with senders(box.ini):
            box.wait(60)

    assert running.kills >= 4
    assert box.states() == {"sent": MAILS - REFUSED, "dead": REFUSED}
    taken = copies(server)
    assert taken.keys() == set(addresses) - refused
    assert sum(count - 1 for count, _ in taken.values()) <= running.kills
    assert {ids for _, ids in taken.values()} == {1}


@pytest.mark.slow
@pytest.mark.both_databases
@pytest.mark.control("M05")
@pytest.mark.parametrize("fault", ["4xx", "refuse all"])
def test_what_a_server_put_off_for_a_while_arrives_exactly_once(fresh_url, tmp_path, fault):
    with mail_server() as server:
        server.mode = fault
        box = new_outbox(tmp_path, fresh_url, server.port)
        addresses = box.fill(20)
        with senders(box.ini):
            tried = "SELECT count(*) FROM outbox WHERE attempts > 0"
            deadline = time.monotonic() + 60
            while not count(box, tried):
                assert time.monotonic() < deadline, "no sender tried"
                time.sleep(0.1)
            server.mode = "ok"
            box.make_due()
            box.wait(60)
    assert copies(server) == dict.fromkeys(addresses, (1, 1))
    assert box.states() == {"sent": 20}


def count(box, statement):
    with box.database.autocommit.connect() as connection:
        return connection.exec_driver_sql(statement).scalar()
