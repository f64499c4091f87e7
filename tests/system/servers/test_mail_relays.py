"""`doctor --production` and the sender at each kind of mail server: one verdict, no password."""

import contextlib
import ssl
import time

import pytest
from structlog.testing import capture_logs

from authsite.checks.arrival import production_findings
from authsite.platform.mail.transports import TemporaryFailure, Unreachable
from authsite.platform.settings import load
from tests.conftest import need
from tests.support import postfix
from tests.support.certificates import make_certificate, server_context
from tests.support.mails import send_one
from tests.support.scripted_mail import scripted_mail_server
from tests.support.site import SECRET

# This machine too, but not by name: it stands for another one.
ELSEWHERE = "0.0.0.0"  # noqa: S104 a place to connect to, not one to listen at
PASSWORD = "geheim7Qm2Xv"
USER = "relayuser"


def settings(url, **more):
    return load(
        {
            "authsite.secret": SECRET,
            "authsite.mail-driver": "smtp",
            "authsite.base-url": "https://auth.example.org",
            "authsite.smtp-url": url,
            "authsite.mail-from": "post@example.org",
            "authsite.bcrypt-cost": "10",
            "authsite.database-url": "sqlite:///:memory:",
        }
        | {f"authsite.{name.replace('_', '-')}": value for name, value in more.items()},
        {},
    )


def sent(cfg):
    """Why the sender cannot send a mail; empty if it is sent."""
    try:
        send_one(cfg)
    except (Unreachable, TemporaryFailure) as error:
        return str(error)
    return ""


def verdicts(cfg):
    """The finding of `doctor`, and that of the sender; both say the same."""
    [finding] = [f for f in production_findings(cfg) if f.subject in ("smtp-url", "mail-from")]
    reason = sent(cfg)
    assert (finding.state == "wrong") == bool(reason)
    assert reason in finding.message
    assert PASSWORD not in finding.message + reason
    return finding.state, finding.message


@pytest.fixture
def snakeoil(tmp_path):
    """The TLS context of a server with a self-signed certificate, for another name."""
    return server_context(make_certificate(tmp_path, "vm.localdomain"))


@pytest.fixture
def vouched(tmp_path, monkeypatch):
    """The TLS context of a server whose certificate this process trusts, for `ELSEWHERE`."""
    path = make_certificate(tmp_path, ELSEWHERE)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    return server_context(path)


@pytest.mark.control("M05")
def test_a_relay_with_its_own_certificate_takes_mails_encrypted(snakeoil):
    with scripted_mail_server("STARTTLS", tls=snakeoil) as server:
        state, message = verdicts(settings(f"smtp://localhost:{server.port}"))
        assert (state, message) == ("ok", f"localhost:{server.port} takes mails")
        state, message = verdicts(settings(f"smtp://{ELSEWHERE}:{server.port}"))
        assert state == "change"
        assert "encrypted, but its certificate is not verified" in message
        assert len(server.taken) == 2
        assert b"MAIL" not in server.clear.upper()
        assert verdicts(settings(f"smtp://localhost:{server.port}?starttls=1"))[0] == "wrong"
        assert len(server.taken) == 2


@pytest.mark.control("M05")
def test_a_relay_without_tls_takes_mails_and_the_check_says_that_they_are_unencrypted():
    with scripted_mail_server() as server:
        assert verdicts(settings(f"smtp://127.0.0.1:{server.port}"))[0] == "ok"
        state, message = verdicts(settings(f"smtp://{ELSEWHERE}:{server.port}"))
        assert state == "change"
        assert f"mails travel to {ELSEWHERE} unencrypted: give" in message
        assert len(server.taken) == 2


@pytest.mark.control("M05")
@pytest.mark.parametrize("features", [("AUTH PLAIN LOGIN",), ("STARTTLS", "AUTH PLAIN LOGIN")])
def test_no_password_leaves_this_machine_without_verified_tls(snakeoil, features):
    with scripted_mail_server(*features, tls=snakeoil) as server:
        for query in ("", "?starttls=1"):
            url = f"smtp://{USER}:{PASSWORD}@{ELSEWHERE}:{server.port}{query}"
            assert verdicts(settings(url))[0] == "wrong"
        assert server.logins == []
        assert b"AUTH" not in server.clear + server.encrypted
        assert not server.password_in_clear(USER, PASSWORD)


@pytest.mark.control("M05")
def test_a_password_is_sent_over_verified_tls_that_is_only_offered(vouched):
    with scripted_mail_server("STARTTLS", "AUTH PLAIN", tls=vouched) as server:
        url = f"smtp://{USER}:{PASSWORD}@{ELSEWHERE}:{server.port}"
        state, message = verdicts(settings(url))
        assert (state, "with a verified certificate" in message) == ("ok", True)
        assert server.logins == [(USER, PASSWORD)] * 2
        assert not server.password_in_clear(USER, PASSWORD)


@pytest.mark.control("M05")
@pytest.mark.parametrize("features", [("AUTH PLAIN",), ("STARTTLS", "AUTH PLAIN")])
def test_a_password_may_go_to_this_machine_as_it_can(snakeoil, features):
    with scripted_mail_server(*features, tls=snakeoil) as server:
        assert verdicts(settings(f"smtp://{USER}:{PASSWORD}@localhost:{server.port}"))[0] == "ok"
        assert server.logins == [(USER, PASSWORD)] * 2


def test_a_relay_that_takes_no_password_says_which_ways_it_has(vouched):
    with scripted_mail_server("STARTTLS", "AUTH XOAUTH2", tls=vouched) as server:
        url = f"smtp://{USER}:{PASSWORD}@{ELSEWHERE}:{server.port}"
        assert "only AUTH XOAUTH2" in verdicts(settings(url))[1]


def test_a_reply_that_repeats_the_password_is_shown_without_it(vouched):
    def repeat(session):
        session.say(b"535 5.7.139 basic authentication is disabled: " + session.last)
        session.say(b"535 plain " + PASSWORD.encode())

    with scripted_mail_server(
        "STARTTLS", "AUTH PLAIN", tls=vouched, replies={"AUTH": repeat}
    ) as server:
        url = f"smtp://{USER}:{PASSWORD}@{ELSEWHERE}:{server.port}"
        assert (
            "535 5.7.139 basic authentication is disabled: AUTH PLAIN …"
            in (verdicts(settings(url))[1])
        )


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({}, "auth.example.org"),
        ({"base_url": "https://192.0.2.7"}, "[192.0.2.7]"),
        ({"base_url": "https://[2001:db8::1]"}, "[IPv6:2001:db8::1]"),
        ({"smtp_helo": "Mail.Example.Net"}, "mail.example.net"),
        ({"smtp_helo": "[198.51.100.4]"}, "[198.51.100.4]"),
    ],
)
def test_both_greet_with_the_same_name(more, name):
    with scripted_mail_server() as server:
        verdicts(settings(f"smtp://127.0.0.1:{server.port}", **more))
        assert set(server.names) == {name}


@pytest.mark.parametrize(
    ("verb", "reply", "words"),
    [
        ("EHLO", b"421 4.3.2 relay.example closing", "421 4.3.2 relay.example closing"),
        ("EHLO", b"504 5.5.2 need fully-qualified hostname", "504 5.5.2 need fully"),
        ("MAIL", b"550 5.7.1 not owned", "550 5.7.1 not owned"),
        ("MAIL", b"421 4.7.0 busy", "421 4.7.0 busy"),
        ("RCPT", b"504 5.5.2 need fully-qualified hostname", "504 5.5.2 need fully"),
        ("RCPT", b"553 5.7.1 Sender address rejected", "553 5.7.1 Sender address rejected"),
        ("RCPT", b"421 4.7.0 busy", "421 4.7.0 busy"),
        ("CONNECT", b"554 no service here", "554 no service here"),
        ("CONNECT", b"421 busy", "421 busy"),
    ],
)
def test_both_report_the_reply_of_a_server_that_takes_nothing(verb, reply, words):
    with scripted_mail_server(replies={verb: reply}) as server:
        cfg = settings(f"smtp://127.0.0.1:{server.port}")
        state, message = verdicts(cfg)
        assert state == "wrong"
        assert words in message
        assert server.taken == []


def closing(session):
    session.client.sendall(b"220-2.0.0 Re")
    return True


def nonsense(session):
    session.say(b"220 2.0.0 Ready")
    session.client.recv(65536)  # the greeting of TLS, before this end is closed
    session.client.sendall(b"\x00" * 100)
    return True


def client_certificate(context):
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_default_certs()
    return context


@pytest.mark.control("M05")
@pytest.mark.parametrize(
    "reply",
    [b"454 4.7.0 TLS not available", b"421 4.7.0 go away", b"501 5.5.4 Syntax", closing, nonsense],
)
def test_tls_that_fails_keeps_no_mail_without_a_password_and_is_noted(snakeoil, reply):
    with (
        capture_logs() as logs,
        scripted_mail_server("STARTTLS", tls=snakeoil, replies={"STARTTLS": reply}) as server,
    ):
        state, message = verdicts(settings(f"smtp://{ELSEWHERE}:{server.port}"))
        assert state == "change"
        assert "unencrypted, since TLS fails (" in message
        assert len(server.taken) == 1
        assert "mail_tls_failed" in [line["event"] for line in logs]
        assert verdicts(settings(f"smtp://{ELSEWHERE}:{server.port}?starttls=1"))[0] == "wrong"
        url = f"smtp://{USER}:{PASSWORD}@{ELSEWHERE}:{server.port}"
        assert verdicts(settings(url))[0] == "wrong"
        assert len(server.taken) == 1
        assert not server.password_in_clear(USER, PASSWORD)


def test_a_server_that_wants_a_certificate_of_ours_gets_mails_without_tls(snakeoil):
    with scripted_mail_server("STARTTLS", tls=client_certificate(snakeoil)) as server:
        assert verdicts(settings(f"smtp://{ELSEWHERE}:{server.port}"))[0] == "change"
        assert len(server.taken) == 1


def test_tls_that_fails_is_noted_once_an_hour(frozen):
    refusal = {"STARTTLS": b"454 4.7.0 no"}
    with capture_logs() as logs, scripted_mail_server("STARTTLS", replies=refusal) as server:
        cfg = settings(f"smtp://127.0.0.1:{server.port}")
        for seconds, lines in ((0, 1), (1800, 1), (1799, 1), (2, 2)):
            frozen.advance(seconds)
            assert sent(cfg) == ""
            noted = [line["reason"] for line in logs if line["event"] == "mail_tls_failed"]
            assert noted == ["454 4.7.0 no"] * lines
        assert len(server.taken) == 4


@pytest.mark.control("M05")
def test_text_that_is_injected_before_tls_is_not_taken_for_the_servers(vouched):
    """As CVE-2011-0411: what came unencrypted would be read as if it came over TLS."""

    def inject(session):
        session.client.sendall(b"220 2.0.0 Ready\r\n250-relay.example\r\n250 AUTH PLAIN\r\n")
        session.upgrade()

    with scripted_mail_server("STARTTLS", tls=vouched, replies={"STARTTLS": inject}) as server:
        url = f"smtp://{USER}:{PASSWORD}@{ELSEWHERE}:{server.port}?starttls=1"
        assert "between its reply and TLS" in verdicts(settings(url))[1]
        assert server.logins == []
        assert b"AUTH" not in server.clear + server.encrypted


def endless(session):
    with contextlib.suppress(OSError):
        while True:
            session.client.sendall(b"250-and more\r\n" * 1000)
    return True


def long_line(session):
    with contextlib.suppress(OSError):
        for _ in range(160):
            session.client.sendall(b"250 " + b"x" * 65536)
        session.say(b"")
    return True


@pytest.mark.control("M05")
@pytest.mark.parametrize("verb", ["CONNECT", "EHLO", "MAIL", "RCPT", "DATA"])
@pytest.mark.parametrize(
    ("reply", "words"), [(endless, "of more than 65536"), (long_line, "of more than 8192")]
)
def test_a_reply_without_end_is_given_up_soon(verb, reply, words):
    with scripted_mail_server(replies={verb: reply}) as server:
        began = time.monotonic()
        assert words in sent(settings(f"smtp://127.0.0.1:{server.port}"))
        assert time.monotonic() - began < 5
        assert server.taken == []


@pytest.mark.parametrize("verb", ["CONNECT", "EHLO", "MAIL", "RCPT", "DATA"])
def test_half_of_a_reply_is_none(verb):
    """The beginning of a reply says nothing: its end may be another one."""

    def half(session):
        session.client.sendall(b"354 Go" if verb == "DATA" else b"250 O")
        return True

    with scripted_mail_server(replies={verb: half}) as server:
        assert "unexpectedly closed" in sent(settings(f"smtp://127.0.0.1:{server.port}"))
        assert server.taken == []


def hanging_up(session):
    session.client.sendall(b"235 2.7.0 Wel")
    return True


@pytest.mark.control("M05")
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (b"421 4.7.0 go away", "421 4.7.0 go away"),
        (b"454 4.7.0 try later", "454 4.7.0 try later"),
        (b"334 a", "base64"),
        (endless, "of more than 65536"),
        (hanging_up, "unexpectedly closed"),
    ],
)
def test_a_login_that_goes_wrong_keeps_the_mails_and_says_why(reply, words):
    with scripted_mail_server("AUTH LOGIN", replies={"AUTH": reply}) as server:
        state, message = verdicts(settings(f"smtp://{USER}:{PASSWORD}@127.0.0.1:{server.port}"))
        assert (state, words in message) == ("wrong", True)
        assert server.taken == []


def test_a_server_that_goes_away_at_the_message_gets_it_again():
    with scripted_mail_server(replies={"DATA": b"421 4.3.2 shutting down"}) as server:
        cfg = settings(f"smtp://127.0.0.1:{server.port}")
        with pytest.raises(Unreachable, match=r"421 4\.3\.2 shutting down"):
            send_one(cfg)


@pytest.mark.slow
@pytest.mark.control("M05")
def test_a_server_that_answers_byte_by_byte_is_given_up_in_time():
    def drip(session):
        with contextlib.suppress(OSError):
            for _ in range(60):
                session.client.sendall(b"2")
                time.sleep(1)
        return True

    with scripted_mail_server(replies={"MAIL": drip}) as server:
        began = time.monotonic()
        assert "timed out" in sent(settings(f"smtp://127.0.0.1:{server.port}"))
        assert 9 < time.monotonic() - began < 13


@pytest.mark.slow
@pytest.mark.control("M05")
def test_mails_leave_through_the_postfix_of_debian_as_it_is_installed(tmp_path):
    """It has a self-signed certificate, which is not for ``localhost``."""
    need(postfix.available(), "Postfix, to be started as root")
    with postfix.postfix(make_certificate(tmp_path, "vm.localdomain")) as (port, log):
        assert verdicts(settings(f"smtp://localhost:{port}"))[0] == "ok"
        assert verdicts(settings(f"smtp://127.0.0.1:{port}"))[0] == "ok"
        assert verdicts(settings(f"smtp://{ELSEWHERE}:{port}"))[0] == "change"
        url = f"smtp://{USER}:{PASSWORD}@{ELSEWHERE}:{port}"
        assert "certificate verify failed" in verdicts(settings(url))[1]
        assert (
            "certificate verify failed"
            in (verdicts(settings(f"smtp://localhost:{port}?starttls=1"))[1])
        )
        written = log.read_text()
    assert written.count("TLS connection established from") >= 6
    assert written.count("message-id=<") == 3
