"""The driver ``smtp``: pyramid_mailer's mailer on the connection of `smtp_connection`."""

import base64
import re
import smtplib
import socket
import ssl
import time
from datetime import timedelta
from email.message import EmailMessage, Message
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

import structlog
from pyramid_mailer.mailer import SMTPMailer

from authsite.platform.mail.leases import one_line
from authsite.platform.mail.message import Mail
from authsite.platform.runtime.seldom import Seldom
from authsite.platform.settings import Settings, SmtpServer, smtp_server
from authsite.platform.settings.urls import host_name, host_of, is_loopback, mail_client_name
from authsite.platform.settings.values import mailbox

from . import (
    BeforeSend,
    LeaseLost,
    PermanentFailure,
    SenderRejected,
    TemporaryFailure,
    Transport,
    Unreachable,
)

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


# The one way to connect to the mail server, for the sender and ``authsite doctor``.
#
# `connect` encrypts as ``smtp-url`` says and signs in. Nothing else opens such a connection, so
# what `doctor` reports is what the sender meets.


TIMEOUT = 10  # seconds, for each reply as a whole, for a command, and for the TLS handshake
# Seconds for the reply to the message itself. A server that scans the mail may be slow, and if we
# give up it has often accepted the mail: the next attempt would send a second copy (RFC 5321,
# section 4.5.3.2.6). With the two steps before it this stays below `MIN_LEASE_AT_SEND`.
DATA_TIMEOUT = 30
MAX_LINE = 8192  # octets; RFC 5321, section 4.5.3.1.5, allows 512
MAX_REPLY = 65536  # octets of all lines of a reply
_LINE_END = re.compile(rb"\r\n|\r|\n")
_REPLY_LINE = re.compile(rb"([0-9]{3})([ -]|$)")
# What a server answers that does not know EHLO (RFC 5321, section 4.1.1.1).
_NO_EHLO = (500, 501, 502, 503)
_FAILURES = (smtplib.SMTPException, OSError, ValueError)


class Connection(smtplib.SMTP):
    """A connection that begins unencrypted, with bounded replies."""

    verified = False  # whether it is encrypted, and the certificate is that of the server
    tls_failure = ""  # why it is not encrypted although the server offers that
    before_send: BeforeSend = staticmethod(lambda: None)
    _received = b""
    _reply_timeout = TIMEOUT  # seconds for the next reply

    @property
    def encrypted(self) -> bool:
        """Whether what is sent now is encrypted."""
        return isinstance(self.sock, ssl.SSLSocket)

    def is_local(self, host: str) -> bool:
        """Whether what is sent does not leave this machine: by the name, and by the address."""
        peer = self.sock.getpeername()[0] if self.sock else ""
        return is_loopback(host_name(host)) and ip_address(peer.partition("%")[0]).is_loopback

    def ehlo(self, name: str = "") -> tuple[int, bytes]:
        """Greet, once for each state of the connection: pyramid_mailer greets again."""
        if self.does_esmtp and self.ehlo_resp is not None:
            return 250, self.ehlo_resp
        return super().ehlo(name)

    def greet(self) -> None:
        """EHLO, or HELO for an old server. Raises `smtplib.SMTPHeloError` with its reply."""
        code, reply = self.ehlo()
        if code in _NO_EHLO:
            code, reply = self.helo()
        if not 200 <= code <= 299:
            raise smtplib.SMTPHeloError(code, reply)

    def encrypt(self, *, verify: bool) -> None:
        """STARTTLS and a new greeting. Raises one of `_FAILURES`."""
        context = ssl.create_default_context() if verify else _unverified()
        if self.sock is not None:
            self.sock.settimeout(TIMEOUT)
        self.starttls(context=context)
        if self._received:
            # Injected by someone between us and the server (CVE-2011-0411).
            raise smtplib.SMTPException("the server sent text between its reply and TLS")
        self.greet()
        self.verified = verify

    def data(self, msg: "ReadableBuffer | str") -> tuple[int, bytes]:
        """Send the message, with CRLF alone as line end, after `before_send`."""
        self.before_send()
        content = msg.encode("ascii") if isinstance(msg, str) else msg
        # The mailer passes bare LF, which strict servers reject (SMTP smuggling).
        return super().data(_LINE_END.sub(b"\r\n", content))

    def send(self, s: "ReadableBuffer | str") -> None:
        """Send all of it within `TIMEOUT`."""
        if self.sock is None:
            raise smtplib.SMTPServerDisconnected("the connection is closed")
        rest = memoryview(s.encode(self.command_encoding) if isinstance(s, str) else s)
        deadline = time.monotonic() + TIMEOUT
        # Only the message has lines, and its reply is the last one.
        self._reply_timeout = DATA_TIMEOUT if bytes(rest[-5:]) == b"\r\n.\r\n" else TIMEOUT
        try:
            while rest:
                self.sock.settimeout(_left(deadline))
                rest = rest[self.sock.send(rest) :]
        except OSError as error:
            raise self._broken(error) from None

    def getreply(self) -> tuple[int, bytes]:
        """The code and the text of the next reply; -1 for a line that is none.

        Raises `smtplib.SMTPServerDisconnected` if it does not end in time, or is endless.
        """
        deadline, size, texts = time.monotonic() + self._reply_timeout, 0, []
        while True:
            line = self._line(deadline)
            size += len(line)
            if size > MAX_REPLY:
                raise self._broken(f"a reply of more than {MAX_REPLY} octets")
            texts.append(line[4:].strip())
            parts = _REPLY_LINE.match(line)
            if parts is None:
                return -1, line
            if parts[2] != b"-":
                return int(parts[1]), b"\n".join(texts)

    def _line(self, deadline: float) -> bytes:
        """The next line without its end. Only a whole line counts: "250" may begin "2505"."""
        while b"\n" not in self._received[: MAX_LINE + 1]:
            if len(self._received) > MAX_LINE:
                raise self._broken(f"a reply with a line of more than {MAX_LINE} octets")
            if self.sock is None:
                raise smtplib.SMTPServerDisconnected("the connection is closed")
            try:
                self.sock.settimeout(_left(deadline))
                chunk = self.sock.recv(4096)
            except OSError as error:
                raise self._broken(error) from None
            if not chunk:
                raise self._broken("")
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        return line.rstrip(b"\r")

    def _broken(self, cause: OSError | str) -> smtplib.SMTPServerDisconnected:
        self.close()
        words = "Connection unexpectedly closed"
        return smtplib.SMTPServerDisconnected(f"{words}: {cause}" if str(cause) else words)

    def quit(self) -> tuple[int, bytes]:
        """QUIT. The server has accepted the mail: an error now must not cause a second copy."""
        try:
            self.putcmd("quit")
            self._reply_timeout = 1
            reply = self.getreply()
        except (smtplib.SMTPException, OSError):
            reply = 221, b""
        self.close()
        return reply


class _Encrypted(Connection, smtplib.SMTP_SSL):
    """A connection that is encrypted from its first byte."""

    verified = True


def connect(cfg: Settings) -> Connection:
    """A connection to the server of ``smtp-url``: greeted, encrypted, and signed in.

    TLS is required, and the certificate verified, for ``smtps``, for ``?starttls=1``, and before a
    password leaves this machine. For all other mails TLS is opportunistic (RFC 7435): an attacker
    who can alter the connection could drop the offer of STARTTLS as well, so a certificate that
    cannot be verified is better than none, and mails go on without TLS if it fails (`tls_failure`).

    Raises `Unreachable` with the reason, which has no password.
    """
    server = smtp_server(cfg.smtp_url.reveal())
    connection: Connection | None = None
    try:
        connection = _open(server, _client_name(cfg))
        if server.username and server.password:
            _sign_in(connection, server)
    except _FAILURES as error:
        if connection is not None:
            connection.close()
        raise Unreachable(reason_of(error, server)) from error
    return connection


def _open(server: SmtpServer, name: str) -> Connection:
    if server.tls == "implicit":
        connection: Connection = _Encrypted(
            server.host, server.port, name, timeout=TIMEOUT, context=ssl.create_default_context()
        )
        return _greeted(connection)
    connection = _greeted(Connection(server.host, server.port, name, timeout=TIMEOUT))
    required = server.tls == "starttls"
    if not connection.has_extn("starttls"):
        if required:
            connection.close()
            raise smtplib.SMTPException("TLS is required, and the server does not offer STARTTLS")
        return connection
    verify = required or (server.password is not None and not connection.is_local(server.host))
    try:
        connection.encrypt(verify=verify)
    except _FAILURES as error:
        connection.close()
        if verify:
            raise
        connection = _greeted(Connection(server.host, server.port, name, timeout=TIMEOUT))
        connection.tls_failure = reason_of(error, server)
    return connection


def _greeted(connection: Connection) -> Connection:
    try:
        connection.greet()
    except _FAILURES:
        connection.close()
        raise
    return connection


def _sign_in(connection: Connection, server: SmtpServer) -> None:
    if not connection.verified and not connection.is_local(server.host):
        raise smtplib.SMTPException(
            "the server offers no TLS, and the password is not sent in the clear: use smtps:// or "
            "another port"
        )
    user, password = server.username or "", server.password.reveal() if server.password else ""
    if not (user + password).isascii():
        raise smtplib.SMTPException("user and password can only have ASCII characters")
    offered = connection.esmtp_features.get("auth", "").split()
    if not {"CRAM-MD5", "PLAIN", "LOGIN"} & {each.upper() for each in offered}:
        ways = f"only AUTH {' '.join(offered)}" if offered else "no AUTH"
        raise smtplib.SMTPException(
            f"the server offers {ways}, so it takes no user and password here: use another port, "
            "or another relay (docs/mail.md)"
        )
    connection.login(user, password)


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def reason_of(error: BaseException, server: SmtpServer) -> str:
    """The error as one line: the server's reply, if there is one, without our password."""
    if isinstance(error, smtplib.SMTPResponseException):
        text = f"{error.smtp_code} {reply_text(error.smtp_error)}"
    else:
        text = str(error) or type(error).__name__
    return without_password(text, server)


def without_password(text: str, server: SmtpServer) -> str:
    """``text`` as one line, without the password, plain or encoded: a reply may repeat it."""
    if server.password is not None and server.username is not None:
        password = server.password.reveal()
        plain = f"\0{server.username}\0{password}"
        for each in (password, _base64(password), _base64(plain)):
            text = text.replace(each, "…")
    return one_line(text)


def reply_text(reply: bytes | str) -> str:
    """The text of a server's reply."""
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _client_name(cfg: Settings) -> str:
    """The name in EHLO: ``smtp-helo``, else the host of ``base-url``, else that of the machine."""
    if cfg.smtp_helo:
        return cfg.smtp_helo
    return mail_client_name(host_of(cfg.base_url[0])) if cfg.base_url else _machine()


@cache
def _machine() -> str:
    # Without it smtplib queries the DNS for every mail.
    name = socket.getfqdn()
    return name if "." in name else "[127.0.0.1]"


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


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
