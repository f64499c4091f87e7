"""The drivers for trying out: ``file`` and ``log``."""

import json
import logging
import os
import stat

import pytest

from authsite.platform.mail.transports import Unreachable
from authsite.platform.mail.transports.driver import open_transport
from authsite.platform.mail.transports.file import transport as file_transport
from tests.conftest import need
from tests.support.mails import link_in, put, read_folder, send_all

LOGGER = logging.getLogger("authsite.mail")


@pytest.fixture
def console(capfd):
    """What goes to the console, from a logger as it is in a new process."""
    before = LOGGER.handlers[:], LOGGER.propagate
    LOGGER.handlers[:], LOGGER.propagate = [], True
    yield capfd
    LOGGER.handlers[:], LOGGER.propagate = before


class Listener(logging.Handler):
    """Keeps what reaches it."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.heard = []

    def emit(self, record):
        self.heard.append(record.getMessage() + json.dumps(record.__dict__, default=str))


def request_link(site):
    user = site.user()
    page = "http://localhost/password/reset"
    site.http.post_json("/v1/password/forgot", {"email": user.email, "reset_url": page})


def test_a_file_is_whole_and_for_its_owner_only(site_with, tmp_path):
    folder = tmp_path / "new" / "mails"
    site = site_with(mail_folder=str(folder))
    request_link(site)
    send_all(site.app.registry)
    [path] = folder.iterdir()
    assert path.suffix == ".eml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    [mail] = read_folder(folder)
    assert link_in(mail).startswith("http://localhost/password/reset/")


def test_a_second_attempt_replaces_the_first_file(site_with, tmp_path):
    site = site_with(mail_folder=str(tmp_path))
    request_link(site)
    send_all(site.app.registry)
    with site.database.transactional.begin() as connection:
        connection.exec_driver_sql("UPDATE outbox SET state = 'waiting'")
    send_all(site.app.registry)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_cannot_be_written_loses_nothing(site_with):
    need(os.path.exists("/dev/full"), "/dev/full")
    site = site_with(mail_folder="/dev/full/mails")
    put(site, "welcome", user_id=site.user().id)
    with pytest.raises(Unreachable, match="mail folder cannot be written"):
        send_all(site.app.registry)
    assert file_transport(site.cfg)


@pytest.mark.control("M04")
def test_the_log_driver_shows_the_mail_and_its_link_on_one_line(site_with, console):
    site = site_with(mail_driver="log")
    request_link(site)
    send_all(site.app.registry)
    shown = console.readouterr().err
    lines = shown.splitlines()
    assert "mail-driver is log" in shown
    assert "To: ann@example.com" in lines
    assert "Subject: Reset your password at authsite" in lines
    [link] = [line for line in lines if line.startswith("http")]
    assert link.startswith("http://localhost/password/reset/")


@pytest.mark.control("M04")
def test_mails_never_reach_the_ordinary_log(site_with, console):
    site, listener = site_with(mail_driver="log"), Listener()
    logging.getLogger().addHandler(listener)
    try:
        request_link(site)
        send_all(site.app.registry)
        logging.getLogger("authsite.other").warning("heard")
    finally:
        logging.getLogger().removeHandler(listener)
    assert "/password/reset/" in console.readouterr().err
    assert "heard" in listener.heard[-1]
    assert "/password/reset/" not in str(listener.heard)


def test_a_logger_that_is_configured_already_is_not_changed(site_with, console):
    own = logging.NullHandler()
    LOGGER.addHandler(own)
    open_transport(site_with(mail_driver="log").cfg)
    assert LOGGER.handlers == [own]
