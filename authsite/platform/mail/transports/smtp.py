"""The driver ``smtp``: pyramid_mailer's mailer on the connection of `smtp_connection`."""

import re
import smtplib
from datetime import timedelta
from email.message import EmailMessage, Message
from typing import NamedTuple

import structlog
from pyramid_mailer.mailer import SMTPMailer

from authsite.platform.mail.message import Mail
from authsite.platform.runtime.seldom import Seldom
from authsite.platform.settings import Settings, SmtpServer, smtp_server
from authsite.platform.settings.mailboxes import mailbox

from . import (
    BeforeSend,
    LeaseLost,
    PermanentFailure,
    SenderRejected,
    TemporaryFailure,
    Transport,
    Unreachable,
)
from .smtp_connection import Connection, connect, reason_of, reply_text, without_password

log = structlog.get_logger("authsite.outbox")

_NOTE_OF_SERVER: dict[tuple[str, int], Seldom] = {}
# RFC 3463, and the list of the IANA for its enhanced status codes: no such mailbox or domain
# (5.1.1 to 5.1.3, 5.1.6, 5.1.10), the mailbox is closed, full or too small (5.2.1 to 5.2.3), and
# the content of the message (5.3.4, 5.6.x). What words say beside them decides nothing.
_ABOUT_MAIL = re.compile(r"5\.(1\.(1|2|3|6|10)|2\.[123]|3\.4|6\.\d{1,3})\b")
# Policy, permission and signatures (5.7.x), the sender's address (5.1.7, 5.1.8), a limit of what we
# may send (5.4.5, Gmail), no right to send as this address (5.2.252, Exchange).
_ABOUT_SENDER = re.compile(r"5\.(7\.\d{1,3}|1\.[78]|4\.5|2\.252)\b")
# Servers without such a code, as Amazon SES and Exim.
_SENDER_WORDS = re.compile(
    r"\bsender\b|\bsend ?as|\bnot verified\b|\bunverified\b|\brelay|\bauthenticat|\bmail from\b",
    re.IGNORECASE,
)


def transport(cfg: Settings) -> Transport:
    """Sends to the server of ``smtp-url``, over a new connection for each mail."""
    server = smtp_server(cfg.smtp_url.reveal())

    def send(mail: Mail, before_send: BeforeSend) -> None:
        connection = connect(cfg)
        if connection.tls_failure:
            _note(server, connection.tls_failure)
        connection.before_send = before_send
        try:
            _Mailer(connection).send(mail.sender, [mail.recipient], _Encoded(mail.message))
        except LeaseLost:
            raise
        # RuntimeError: the mailer's own.
        except (smtplib.SMTPException, OSError, RuntimeError) as error:
            raise failure(error, server) from error
        finally:
            connection.close()

    return send


def _note(server: SmtpServer, reason: str) -> None:
    """Log that mails travel unencrypted, once an hour."""
    place = server.host, server.port
    if _NOTE_OF_SERVER.setdefault(place, Seldom(timedelta(hours=1))).due():
        log.warning("mail_tls_failed", host=server.host, port=server.port, reason=reason)


class Tried(NamedTuple):
    """How a connection was that the server takes mails over."""

    local: bool
    encrypted: bool
    verified: bool
    tls_failure: str


def try_out(cfg: Settings) -> Tried:
    """Do all that the sender does before the message itself.

    The server is asked to take a mail from ``mail-from`` to that address: it may reject our name
    or the sender only then. Raises `Unreachable`, `SenderRejected`.
    """
    server, address = smtp_server(cfg.smtp_url.reveal()), mailbox(cfg.mail_from).address
    connection = connect(cfg)
    tried = Tried(
        local=connection.is_local(server.host),
        encrypted=connection.encrypted,
        verified=connection.verified,
        tls_failure=connection.tls_failure,
    )
    try:
        code, reply = connection.mail(address)
        if code != 250:
            raise smtplib.SMTPSenderRefused(code, reply, address)
        code, reply = connection.rcpt(address)
        if code not in (250, 251):
            raise smtplib.SMTPRecipientsRefused({address: (code, reply)})
        connection.rset()
    except (smtplib.SMTPException, OSError) as error:
        cause = failure(error, server)
        if isinstance(cause, (Unreachable, SenderRejected)):
            raise cause from error
    finally:
        connection.quit()
    return tried


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


class _Mailer(SMTPMailer):
    """pyramid_mailer's mailer for one mail, over a connection that is ready for it."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(no_tls=True)  # `connect` has encrypted what can be encrypted
        self._connection = connection

    def smtp_factory(self) -> smtplib.SMTP:
        return self._connection


def failure(error: Exception, server: SmtpServer) -> Exception:
    """The transport's error for ``error``: is the cause this mail, the sender, or the server?"""
    reply: bytes | str
    match error:
        case smtplib.SMTPRecipientsRefused():
            code, reply = next(iter(error.recipients.values()))
        case smtplib.SMTPDataError():
            code, reply = error.smtp_code, error.smtp_error
        case _:
            return Unreachable(reason_of(error, server))
    text = reply_text(reply)
    reason = without_password(f"{code} {text}", server)
    if 550 <= code <= 559:
        return (SenderRejected if _is_about_sender(text) else PermanentFailure)(reason)
    # The other 5xx codes reject us, not the mail (530: authentication required). 421: the server
    # is shutting down.
    if 400 <= code <= 499 and code != 421:
        return TemporaryFailure(reason)
    return Unreachable(reason)


def _is_about_sender(reply: str) -> bool:
    """Whether a server rejects us as the sender, not the recipient or the mail."""
    if _ABOUT_SENDER.match(reply):
        return True
    return not _ABOUT_MAIL.match(reply) and _SENDER_WORDS.search(reply) is not None
