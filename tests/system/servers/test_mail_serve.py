"""The sender as a thread of ``authsite serve``, and as a separate command."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.support.mails import link_in
from tests.support.senders import new_outbox
from tests.support.servers import OWN_ADDRESS, authsite, free_port, serving, write_ini
from tests.support.smtp import mail_server

pytestmark = pytest.mark.slow


def wait_for(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"no {what} after {seconds} s"
        time.sleep(0.1)
    return found


def register(http, email="ann@example.com"):
    page = f"{str(http.base_url).rstrip('/')}/email/verify"
    form = {"email": email, "password": "purple wolf 77 tea", "verification_url": page}
    assert http.post("/v1/register", json=form).status_code == 201


@pytest.mark.control("M04")
def test_the_console_shows_a_newcomer_the_link_on_one_line(fresh_url, tmp_path):
    box = new_outbox(tmp_path, fresh_url, 1)
    ini = write_ini(tmp_path, fresh_url, mail_driver="log")
    with serving(ini, workers=2) as http:
        register(http)
        base = str(http.base_url).rstrip("/")
        shown = re.compile(rf"^{base}/email/verify/\S+$", re.MULTILINE)
        wait_for(lambda: shown.search(http.log.read_text()), "link in the log")
        assert "To: ann@example.com\n" in http.log.read_text()
        box.wait(10)
    assert len(shown.findall(http.log.read_text())) == 1


def test_pages_6_every_worker_shows_the_mails_of_the_driver_log(fresh_url, tmp_path):
    new_outbox(tmp_path, fresh_url, 1)
    ini = write_ini(tmp_path, fresh_url, mail_driver="log")
    with serving(ini, workers=2) as http:
        register(http)
        base = str(http.base_url).rstrip("/")
        assert f"Mails          http://localhost:{http.base_url.port}/dev/mail" in (
            http.log.read_text()
        )

        def shows():
            # Without keep-alive: each request may reach another worker.
            page = http.get("/dev/mail", headers={"Connection": "close"})
            assert page.status_code == 200
            assert page.headers["Cache-Control"] == "no-store"
            return f'<a href="{base}/email/verify/' in page.text

        wait_for(shows, "mail on the page")
        assert all(shows() for _ in range(20))
        assert http.get("/dev/mail", headers={"Via": "1.1 proxy"}).status_code == 404
        assert http.get("/dev/mail", headers={"Host": "auth.example.org"}).status_code == 404


def test_pages_6_with_a_public_address_no_worker_shows_mails(fresh_url, tmp_path):
    new_outbox(tmp_path, fresh_url, 1)
    ini = write_ini(tmp_path, fresh_url, mail_driver="log", base_url="https://auth.example.org")
    with serving(ini) as http:
        assert http.get("/dev/mail", headers={"Host": "localhost"}).status_code == 404
        assert "/dev/mail" not in http.log.read_text()


def test_the_workers_send_by_themselves_and_each_mail_once(fresh_url, tmp_path):
    with mail_server() as server:
        box = new_outbox(tmp_path, fresh_url, server.port)
        with serving(box.ini, workers=2, **OWN_ADDRESS) as http:
            for number in range(5):
                register(http, f"ann+{number}@example.com")
            server.wait(5)
            box.wait(10)
    assert sorted(address for address, _ in server.taken) == [
        f"ann+{number}@example.com" for number in range(5)
    ]
    assert all("/email/verify/" in link_in(mail) for mail in server.mails())


def test_without_a_mail_server_the_service_works_says_so_once_and_catches_up(fresh_url, tmp_path):
    port = free_port()
    box = new_outbox(tmp_path, fresh_url, port)
    with serving(box.ini, **OWN_ADDRESS) as http:
        register(http)
        wait_for(lambda: "mail_sending_paused" in http.log.read_text(), "log line of the outage")
        register(http, "bo@example.com")
        with mail_server(port) as server:
            server.wait(2, seconds=60)
            box.wait(10)
        wait_for(lambda: "mail_sending_resumed" in http.log.read_text(), "log line of its end")
        assert http.log.read_text().count("mail_sending_paused") == 1


def test_a_worker_that_is_told_to_stop_finishes_the_mail_under_way(fresh_url, tmp_path):
    with mail_server() as server:
        server.pause = 1.5
        box = new_outbox(tmp_path, fresh_url, server.port)
        with serving(box.ini, **OWN_ADDRESS) as http:
            register(http)
            server.wait(1)
            http.close()
            http.process.send_signal(signal.SIGTERM)
            start = time.monotonic()
            http.process.wait(15)
            assert time.monotonic() - start < 9
    assert box.states() == {"sent": 1}


def test_with_mail_sender_none_nothing_leaves(fresh_url, tmp_path):
    with mail_server() as server:
        box = new_outbox(tmp_path, fresh_url, server.port)
        with serving(box.ini, AUTHSITE_MAIL_SENDER="none", **OWN_ADDRESS) as http:
            register(http)
            time.sleep(3)  # three times as long as a sender would need
    assert server.taken == []
    assert box.states() == {"waiting": 1}


def test_the_loop_sends_what_comes_and_ends_well_at_sigterm(fresh_url, tmp_path):
    with mail_server() as server:
        box = new_outbox(tmp_path, fresh_url, server.port)
        box.fill(1)
        command = [sys.executable, "-m", "authsite", "mail", "send", "--loop"]
        process = subprocess.Popen(
            [*command, "--config", str(box.ini)], env={**os.environ, "AUTHSITE_ENV_FILE": "/none"}
        )
        try:
            server.wait(1, seconds=30)
            box.fill(2)
            server.wait(3)
            box.wait(10)
        finally:
            process.terminate()
        assert process.wait(10) == 0


def test_send_says_what_it_did_and_what_is_wrong(fresh_url, tmp_path):
    with mail_server() as server:
        server.per_address["ann+0@example.com"] = "refuse"
        box = new_outbox(tmp_path, fresh_url, server.port)
        box.fill(3)
        done = authsite("mail", "send", ini=box.ini)
        assert (done.returncode, done.stdout) == (
            0, "2 sent, 0 to be tried again, 1 dead, 0 dropped\n",
        )  # fmt: skip
        box.fill(1)
    failed = authsite("mail", "send", ini=box.ini)
    assert failed.returncode == 1
    assert "no mail can leave now" in failed.stderr
    assert "Traceback" not in failed.stderr
