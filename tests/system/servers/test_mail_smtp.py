"""The smtp driver against a real mail server: TLS, passwords, and every way to fail."""

import time

import pytest

from authsite.platform.mail.transports import PermanentFailure, TemporaryFailure, Unreachable
from authsite.platform.mail.transports import smtp as smtp_connection
from authsite.platform.settings import load
from tests.support.certificates import make_certificate, server_context
from tests.support.mails import send_one, text_of
from tests.support.servers import free_port
from tests.support.site import SECRET
from tests.support.smtp import mail_server


def settings(url, sender="post@example.org"):
    return load(
        {
            "authsite.secret": SECRET,
            "authsite.mail-driver": "smtp",
            "authsite.smtp-url": url,
            "authsite.mail-from": sender,
        },
        {},
    )


def send(
    url,
    text="Grüße\n.\n.a line that begins with a dot\nFrom here\n",
    subject="Überraschung für Sie",
    sender="Bücher & Co <post@example.org>",
):
    send_one(settings(url, sender), text, subject)


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    """A certificate for localhost that this process trusts."""
    path = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    return path


@pytest.fixture
def untrusted(tmp_path):
    return make_certificate(tmp_path)


def test_the_server_gets_what_was_written_unchanged():
    with mail_server() as server:
        send(f"smtp://127.0.0.1:{server.port}")
    [mail] = server.mails()
    assert text_of(mail) == "Grüße\n.\n.a line that begins with a dot\nFrom here\n"
    assert mail.get_body(("html",)).get_content().strip() == "<p>Grüße</p>"
    assert mail["Subject"] == "Überraschung für Sie"
    assert mail["From"] == "Bücher & Co <post@example.org>"
    assert mail["To"] == "ann@example.com"


def test_headers_that_are_folded_arrive_whole():
    subject, sender = "Überraschung " * 12 + "!", "Long Name " * 12 + "<post@example.org>"
    with mail_server() as server:
        send(f"smtp://127.0.0.1:{server.port}", subject=subject, sender=sender)
    [mail] = server.mails()
    assert mail["Subject"] == subject
    assert mail["From"] == sender
    assert text_of(mail).startswith("Grüße\n")


def test_a_long_link_arrives_whole():
    link = "https://example.com/" + "x" * 3000
    with mail_server() as server:
        send(f"smtp://127.0.0.1:{server.port}", text=f"Hello\n\n{link}\n")
    assert link in text_of(server.mails()[0]).splitlines()


def test_user_and_password_are_decoded_from_the_url():
    with mail_server(auth=True) as server:
        send(f"smtp://us%40er:p%3Aa%2Fss%25@127.0.0.1:{server.port}")
    assert server.logins == [("us@er", "p:a/ss%")]
    assert len(server.taken) == 1


@pytest.mark.control("M05")
def test_starttls_is_used_and_the_certificate_is_checked(certificate):
    with mail_server(starttls=server_context(certificate)) as server:
        send(f"smtp://localhost:{server.port}?starttls=1")
        send(f"smtp://localhost:{server.port}")
    assert len(server.taken) == 2


@pytest.mark.control("M05")
def test_required_starttls_with_a_certificate_that_nobody_vouches_for_sends_nothing(untrusted):
    with mail_server(starttls=server_context(untrusted)) as server:
        with pytest.raises(Unreachable, match=r"(?i)certificate verify failed"):
            send(f"smtp://localhost:{server.port}?starttls=1")
        assert server.taken == []


@pytest.mark.control("M05")
def test_a_certificate_for_another_name_sends_nothing(tmp_path, monkeypatch):
    path = make_certificate(tmp_path, "other.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with mail_server(starttls=server_context(path)) as server:
        with pytest.raises(Unreachable, match=r"(?i)hostname mismatch"):
            send(f"smtp://localhost:{server.port}?starttls=1")
        assert server.taken == []


@pytest.mark.control("M05")
def test_starttls_that_is_required_and_not_offered_sends_nothing():
    with mail_server() as server:
        with pytest.raises(Unreachable, match="TLS is required"):
            send(f"smtp://127.0.0.1:{server.port}?starttls=1")
        assert server.taken == []


@pytest.mark.control("M05")
def test_implicit_tls_works_and_the_certificate_is_checked(certificate, monkeypatch):
    with mail_server(tls=server_context(certificate)) as server:
        send(f"smtps://localhost:{server.port}")
        assert len(server.taken) == 1
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(Unreachable, match=r"(?i)certificate verify failed"):
            send(f"smtps://localhost:{server.port}")
    assert len(server.taken) == 1


@pytest.mark.control("M05")
def test_a_password_never_travels_in_the_clear_to_another_machine():
    """0.0.0.0 is this machine too, but not by name: it stands for another machine."""
    with mail_server(auth=True) as server:
        with pytest.raises(Unreachable, match="not sent in the clear"):
            send(f"smtp://user:secret@0.0.0.0:{server.port}")
        assert server.logins == []


@pytest.mark.parametrize(
    ("mode", "error", "words"),
    [
        ("refuse", PermanentFailure, "550 5.1.1 No such mailbox"),
        ("4xx", TemporaryFailure, "451 4.3.0 Try again later"),
        ("refuse all", Unreachable, "530 5.7.0 Authentication required"),
        ("drop", Unreachable, "Connection unexpectedly closed"),
    ],
)
def test_each_failure_has_its_own_error(mode, error, words):
    with mail_server() as server:
        server.mode = mode
        with pytest.raises(error, match=words):
            send(f"smtp://127.0.0.1:{server.port}")
        assert server.taken == []


def test_a_server_that_is_not_there_is_unreachable():
    with pytest.raises(Unreachable, match="refused"):
        send(f"smtp://127.0.0.1:{free_port()}")


def test_a_name_that_does_not_exist_is_unreachable():
    with pytest.raises(Unreachable):
        send("smtp://mail.invalid:25")


@pytest.mark.slow
@pytest.mark.control("M05")
def test_a_server_that_hangs_is_given_up_after_ten_seconds():
    with mail_server() as server:
        server.mode = "hang"
        start = time.monotonic()
        with pytest.raises(Unreachable, match=r"timed out|closed"):
            send(f"smtp://127.0.0.1:{server.port}")
        assert 9 < time.monotonic() - start < 15


def test_a_server_that_hangs_up_after_its_yes_has_the_mail():
    with mail_server() as server:
        server.mode = "drop after ok"
        send(f"smtp://127.0.0.1:{server.port}")
    assert len(server.taken) == 1


def test_a_lease_outlasts_the_longest_sending():
    """A second copy could leave if the answer to DATA could take longer than the lease."""
    from authsite.platform.mail.leases import LEASE
    from authsite.platform.mail.transports import MIN_LEASE_AT_SEND

    longest = 2 * smtp_connection.TIMEOUT + smtp_connection.DATA_TIMEOUT
    assert longest < MIN_LEASE_AT_SEND.total_seconds() < LEASE.total_seconds()
