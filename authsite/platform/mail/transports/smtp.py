"""The driver ``smtp``: pyramid_mailer's mailer on a hardened connection.

The mailer's STARTTLS does not verify certificates before Python 3.13, it ends lines with LF alone,
and it fails when a server closes the connection after it has accepted the mail. `_HardenedSMTP`
corrects this.
"""

import re
import smtplib
import socket
import ssl
from email.message import EmailMessage, Message
from functools import cache
from typing import TYPE_CHECKING

from pyramid_mailer.mailer import SMTPMailer

from authsite.platform.mail.message import Mail
from authsite.platform.settings import Settings, SmtpServer, smtp_server
from authsite.platform.settings.urls import host_name, is_loopback

from . import (
    BeforeSend,
    LeaseLost,
    PermanentFailure,
    TemporaryFailure,
    Transport,
    Unreachable,
)

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

TIMEOUT = 10  # seconds, for each reply
# Seconds for the reply to the message itself. A server that scans the mail may be slow, and if we
# give up it has often accepted the mail: the next attempt would send a second copy (RFC 5321,
# section 4.5.3.2.6). With the two replies before it this stays below `MIN_LEASE_AT_SEND`.
DATA_TIMEOUT = 30
_LINE_END = re.compile(rb"\r\n|\r|\n")


def transport(cfg: Settings) -> Transport:
    """Sends to the server of ``smtp-url``, over a new connection for each mail."""
    server = smtp_server(cfg.smtp_url.reveal())

    def send(mail: Mail, before_send: BeforeSend) -> None:
        mailer = _Mailer(server, before_send)
        try:
            mailer.send(mail.sender, [mail.recipient], _Encoded(mail.message))
        except LeaseLost:
            raise
        # RuntimeError: the mailer's own, such as required TLS that the server does not offer.
        except (smtplib.SMTPException, OSError, RuntimeError) as error:
            raise _classify(error) from error
        finally:
            mailer.close()

    return send


class _Encoded(Message):
    """A message that is encoded already, so that the mailer does not encode it again.

    It raises `ValueError` for an `EmailMessage` with a folded header, and labels its UTF-8 parts
    us-ascii (repoze.sendmail 4.5).
    """

    def __init__(self, message: EmailMessage) -> None:
        super().__init__()
        self._content = message.as_string()

    def as_string(self, *_arguments: object, **_options: object) -> str:
        return self._content


class _HardenedSMTP(smtplib.SMTP):
    """A connection that begins unencrypted."""

    _server: SmtpServer
    _before_send: BeforeSend
    _timeouts: tuple[int, ...] = ()  # of the next replies

    def prepare(self, server: SmtpServer, before_send: BeforeSend) -> None:
        self._server = server
        self._before_send = before_send

    def starttls(self, *_arguments: object, **_options: object) -> tuple[int, bytes]:
        return super().starttls(context=ssl.create_default_context())

    def login(
        self, user: str, password: str, *, initial_response_ok: bool = True
    ) -> tuple[int, bytes]:
        encrypted = isinstance(self.sock, ssl.SSLSocket)
        if not encrypted and not is_loopback(host_name(self._server.host)):
            raise smtplib.SMTPException(
                "the server offers no TLS, and the password is not sent in the clear: "
                "use smtps:// or another port"
            )
        return super().login(user, password, initial_response_ok=initial_response_ok)

    def data(self, msg: "ReadableBuffer | str") -> tuple[int, bytes]:
        self._before_send()
        self._timeouts = (TIMEOUT, DATA_TIMEOUT)
        content = msg.encode("ascii") if isinstance(msg, str) else msg
        # The mailer passes bare LF, which strict servers reject (SMTP smuggling).
        return super().data(_LINE_END.sub(b"\r\n", content))

    def getreply(self) -> tuple[int, bytes]:
        if self._timeouts and self.sock is not None:
            self.sock.settimeout(self._timeouts[0])
            self._timeouts = self._timeouts[1:]
        return super().getreply()

    def quit(self) -> tuple[int, bytes]:
        # The server has accepted the mail: an error now must not cause a second delivery.
        try:
            if self.sock is not None:
                self.sock.settimeout(1)
            return super().quit()
        except (smtplib.SMTPException, OSError):
            return 221, b""


class _HardenedSMTPS(_HardenedSMTP, smtplib.SMTP_SSL):
    """A connection that is encrypted from its first byte."""


class _Mailer(SMTPMailer):
    """pyramid_mailer's mailer for one mail."""

    def __init__(self, server: SmtpServer, before_send: BeforeSend) -> None:
        super().__init__(
            hostname=server.host,
            port=server.port,
            username=server.username,
            password=server.password.reveal() if server.password else None,
            force_tls=server.tls == "starttls",
            no_tls=server.tls == "implicit",
        )
        self._server = server
        self._before_send = before_send
        self._connection: _HardenedSMTP | None = None

    def smtp_factory(self) -> smtplib.SMTP:
        server, name = self._server, _local_hostname()
        if server.tls == "implicit":
            context = ssl.create_default_context()
            self._connection = _HardenedSMTPS(
                server.host, server.port, name, timeout=TIMEOUT, context=context
            )
        else:
            self._connection = _HardenedSMTP(server.host, server.port, name, timeout=TIMEOUT)
        self._connection.prepare(server, self._before_send)
        return self._connection

    def close(self) -> None:
        """Close the connection if one was opened."""
        if self._connection is not None:
            self._connection.close()


@cache
def _local_hostname() -> str:
    # Without it smtplib queries the DNS for every mail.
    return socket.getfqdn()


def _classify(error: Exception) -> Exception:
    """The transport's error for ``error``: is the cause this mail or the server?"""
    reply: bytes | str
    match error:
        case smtplib.SMTPRecipientsRefused():
            code, reply = next(iter(error.recipients.values()))
        case smtplib.SMTPDataError():
            code, reply = error.smtp_code, error.smtp_error
        case smtplib.SMTPResponseException():
            return Unreachable(f"{error.smtp_code} {_text(error.smtp_error)}")
        case _:
            return Unreachable(str(error) or type(error).__name__)
    reason = f"{code} {_text(reply)}"
    if 550 <= code <= 559:
        return PermanentFailure(reason)
    # The other 5xx codes reject us, not the mail (530: authentication required). 421: the server
    # is shutting down.
    if 400 <= code <= 499 and code != 421:
        return TemporaryFailure(reason)
    return Unreachable(reason)


def _text(reply: bytes | str) -> str:
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
