"""A real mail server on 127.0.0.1 that can be told to misbehave."""

import asyncio
import email.policy
import threading
import time
from contextlib import contextmanager

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from tests.support.servers import free_port

MODES = ("ok", "refuse", "sender", "4xx", "hang", "drop", "drop after ok", "refuse all")


class MailServer:
    """What the server took, and how it behaves: ``mode`` is one of MODES, ``per_address`` wins.

    ok: takes the mail. refuse: 550 to the recipient. sender: 553, since the
    sender is not ours to use. 4xx: 451 to the recipient. hang: no answer
    to the recipient. drop: hangs up after DATA without an answer. drop after ok: takes the mail,
    says so, hangs up. refuse all: 530 to the sender, as a server that wants a login.
    """

    def __init__(self, port):
        self.port = port
        self.mode = "ok"
        self.per_address = {}
        self.taken = []  # (address, raw bytes), in the order of arrival
        self.dropped = []  # received whole, answered never
        self.logins = []
        self.pause = 0  # seconds between taking a mail and saying so
        self._changed = threading.Condition()

    # No property: aiosmtpd looks at every attribute of its handler at every connection.
    def mails(self):
        """What was taken, parsed."""
        return [email.message_from_bytes(raw, policy=email.policy.default) for _, raw in self.taken]

    def wait(self, count, seconds=20):
        """Until ``count`` mails were taken; the mails, or an assertion that they did not come."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while len(self.taken) < count and time.monotonic() < deadline:
                self._changed.wait(max(0, deadline - time.monotonic()))
        assert len(self.taken) >= count, f"{len(self.taken)} of {count} mails after {seconds} s"
        return self.mails()

    async def handle_MAIL(self, _server, _session, envelope, address, _options):
        if self.mode == "refuse all":
            return "530 5.7.0 Authentication required"
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, _server, _session, envelope, address, _options):
        mode = self.per_address.get(address, self.mode)
        if mode == "refuse":
            return "550 5.1.1 No such mailbox"
        if mode == "sender":
            return f"553 5.7.1 <{address}>: Sender address rejected: not owned by user"
        if mode == "4xx":
            return "451 4.3.0 Try again later"
        if mode == "hang":
            await asyncio.sleep(3600)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, _session, envelope):
        [address] = envelope.rcpt_tos
        mode = self.per_address.get(address, self.mode)
        if mode == "drop":
            self.dropped.append((address, envelope.content))
            server.transport.abort()
            return "250 nobody hears this"
        with self._changed:
            self.taken.append((address, envelope.content))
            self._changed.notify_all()
        await asyncio.sleep(self.pause)
        if mode == "drop after ok":
            await server.push("250 OK")
            server.transport.abort()
        return "250 OK"

    def authenticate(self, _server, _session, _envelope, _mechanism, data):
        self.logins.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=True)


@contextmanager
def mail_server(port=None, *, tls=None, starttls=None, auth=False):
    """Run a `MailServer`; ``tls`` and ``starttls`` are the server's TLS contexts."""
    server = MailServer(port or free_port())
    options = {"tls_context": starttls}
    if auth:
        options |= {"authenticator": server.authenticate, "auth_require_tls": False}
    controller = Controller(
        server, hostname="127.0.0.1", port=server.port, ssl_context=tls, **options
    )
    controller.start()
    try:
        yield server
    finally:
        controller.stop(no_assert=True)
