"""The one way to connect to the mail server, for the sender and ``authsite doctor``.

`connect` encrypts as ``smtp-url`` says and signs in. Nothing else opens such a connection, so what
`doctor` reports is what the sender meets.
"""

import base64
import re
import smtplib
import socket
import ssl
import time
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING

from authsite.platform.mail.leases import one_line
from authsite.platform.settings import Settings, SmtpServer, smtp_server
from authsite.platform.settings.service_urls import mail_client_name
from authsite.platform.settings.urls import host_name, host_of, is_loopback

from . import BeforeSend, Unreachable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

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
