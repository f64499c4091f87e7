"""Which refusals of a mail server end a mail, and which make it wait."""

import pytest

from authsite.platform.mail.transports import (
    PermanentFailure,
    SenderRejected,
    TemporaryFailure,
    Unreachable,
)
from tests.support.mails import send_one
from tests.support.scripted_mail import scripted_mail_server
from tests.system.servers.test_mail_relays import settings

ABOUT_SENDER = [
    "553 5.7.1 <post@example.org>: Sender address rejected: not owned by user relayuser",
    "554 5.7.1 <ann@example.com>: Relay access denied",
    "554 Message rejected: Email address is not verified. The following identities failed",
    "550-5.4.5 Daily user sending limit exceeded.\r\n550 5.4.5 For more information see",
    "554 5.2.252 SendAsDenied; relay@example.org not allowed to send as post@example.org",
    "550 5.1.8 <post@example.org>: Sender address rejected: Domain not found",
    "550 relay not permitted",
    "550 5.7.26 This mail has been blocked because the sender is unauthenticated.",
    "551 5.7.1 we do not relay",
    "550 Sender verify failed",
]
ABOUT_MAIL = [
    "550 5.1.1 <ann@example.com>: Recipient address rejected: User unknown in relay table",
    "550 5.1.10 RESOLVER.ADR.RecipientNotFound; not found, sender relay",
    "552 5.2.2 <ann@example.com>: Over quota",
    "552 5.3.4 Message size exceeds fixed limit",
    "550 No such user here",
    "550 User unknown",
    "553 sorry, that domain isn't in my list",
]


def failure(verb, reply):
    with scripted_mail_server(replies={verb: reply.encode()}) as server:
        with pytest.raises((PermanentFailure, TemporaryFailure, Unreachable)) as raised:
            send_one(settings(f"smtp://127.0.0.1:{server.port}"))
        return type(raised.value), str(raised.value)


@pytest.mark.parametrize("verb", ["RCPT", "DATA"])
@pytest.mark.parametrize("reply", ABOUT_SENDER)
def test_a_server_that_rejects_the_sender_gets_the_mail_again(verb, reply):
    kind, reason = failure(verb, reply)
    assert kind is SenderRejected
    assert reason == " ".join(reply.replace("\r\n550 ", " ").replace("550-", "550 ").split())


@pytest.mark.parametrize("verb", ["RCPT", "DATA"])
@pytest.mark.parametrize("reply", ABOUT_MAIL)
def test_a_server_that_rejects_the_recipient_or_the_mail_does_not(verb, reply):
    assert failure(verb, reply) == (PermanentFailure, reply)


@pytest.mark.parametrize("reply", [ABOUT_SENDER[0], ABOUT_SENDER[2], ABOUT_MAIL[0], "451 later"])
def test_at_mail_from_all_mails_wait(reply):
    assert failure("MAIL", reply) == (Unreachable, reply)
