"""The driver ``smtp``: pyramid_mailer's mailer, with what it leaves open closed.

Its STARTTLS does not verify certificates before Python 3.13, it ends lines with LF alone, and it
fails when a server hangs up after it has taken the mail. `_Careful` mends that on the connection
it works with.
"""

import re
import smtplib
import socket
import ssl
from functools import cache
from typing import Any

from pyramid_mailer.mailer import SMTPMailer

from authsite.mail.message import Mail
from authsite.settings import Settings, SmtpServer, smtp_server
from authsite.settings.urls import host_name, is_loopback

from .transport import LastWord, LeaseLost, NotNow, Refused, Transport, Unreachable

TIMEOUT = 10  # seconds, for each answer
# The answer to the mail itself. A server that scans it may be slow, and one that is given up on
# here has often taken it: the next attempt would be a second copy (RFC 5321, section 4.5.3.2.6).
# With the two answers before it this stays below `LAST_WORD_LEASE`.
TAKEN_TIMEOUT = 30
_LINE_END = re.compile(rb"\r\n|\r|\n")


def transport(cfg: Settings) -> Transport:
    """Sends to the server of ``smtp-url``, over a new connection each time."""
    server = smtp_server(cfg.smtp_url)

    def send(mail: Mail, last_word: LastWord) -> None:
        mailer = _Mailer(server, last_word)
        try:
            mailer.send(mail.sender, [mail.recipient], mail.message)
        except LeaseLost:
            raise
        # RuntimeError: what the mailer itself raises, such as TLS that is required and not there.
        except (smtplib.SMTPException, OSError, RuntimeError) as error:
            raise _verdict(error) from error
        finally:
            mailer.close()

    return send


class _Careful:
    """What both kinds of connection do differently from smtplib."""

    sock: Any
    file: Any
    _host: str

    def prepare(self, last_word: LastWord) -> None:
        self._last_word = last_word
        self._timeouts: list[int] = []

    def starttls(self, *_: Any, **__: Any) -> Any:
        return super().starttls(context=ssl.create_default_context())  # type: ignore[misc]

    def login(self, user: str, password: str, **more: Any) -> Any:
        if not isinstance(self.sock, ssl.SSLSocket) and not is_loopback(host_name(self._host)):
            raise smtplib.SMTPException(
                "the server offers no TLS, and the password is not sent in the clear: "
                "use smtps:// or another port"
            )
        return super().login(user, password, **more)  # type: ignore[misc]

    def data(self, message: Any) -> Any:
        self._last_word()
        self._timeouts = [TIMEOUT, TAKEN_TIMEOUT]
        # The mailer hands over bare LF, which careful servers refuse (SMTP smuggling).
        return super().data(_LINE_END.sub(b"\r\n", message))  # type: ignore[misc]

    def getreply(self) -> Any:
        if getattr(self, "_timeouts", None) and self.sock is not None:
            self.sock.settimeout(self._timeouts.pop(0))
        return super().getreply()  # type: ignore[misc]

    def quit(self) -> Any:
        # The mail was taken: however the server says good-bye, it is not sent again.
        try:
            self.sock.settimeout(1)
            return super().quit()  # type: ignore[misc]
        except (smtplib.SMTPException, OSError):
            return None


class _Plain(_Careful, smtplib.SMTP):
    """A connection that begins in the clear."""


class _Encrypted(_Careful, smtplib.SMTP_SSL):
    """A connection that is encrypted from its first byte."""


class _Mailer(SMTPMailer):  # type: ignore[misc]  # the library has no types
    """pyramid_mailer's mailer for one mail."""

    def __init__(self, server: SmtpServer, last_word: LastWord) -> None:
        super().__init__(
            hostname=server.host,
            port=server.port,
            username=server.username,
            password=server.password,
            force_tls=server.tls == "starttls",
            no_tls=server.tls == "implicit",
        )
        self._server = server
        self._last_word = last_word
        self._connection: _Plain | _Encrypted | None = None

    def smtp_factory(self) -> Any:
        server = self._server
        common: dict[str, Any] = {"local_hostname": _our_name(), "timeout": TIMEOUT}
        if server.tls == "implicit":
            context = ssl.create_default_context()
            self._connection = _Encrypted(server.host, server.port, context=context, **common)
        else:
            self._connection = _Plain(server.host, server.port, **common)
        self._connection.prepare(self._last_word)
        return self._connection

    def close(self) -> None:
        """End the connection whatever happened."""
        if self._connection is not None:
            self._connection.close()


@cache
def _our_name() -> str:
    # smtplib would ask the name server before every mail.
    return socket.getfqdn()


def _verdict(error: Exception) -> Exception:
    """Whether the trouble is with this mail or with the server."""
    answer: bytes | str
    match error:
        case smtplib.SMTPRecipientsRefused():
            code, answer = next(iter(error.recipients.values()))
        case smtplib.SMTPDataError():
            code, answer = error.smtp_code, error.smtp_error
        case smtplib.SMTPResponseException():
            return Unreachable(f"{error.smtp_code} {_words(error.smtp_error)}")
        case _:
            return Unreachable(str(error) or type(error).__name__)
    reason = f"{code} {_words(answer)}"
    if 550 <= code <= 559:
        return Refused(reason)
    # Of 5xx the others blame us, not the mail (530: log in first); 421: the server is closing.
    return NotNow(reason) if 400 <= code <= 499 and code != 421 else Unreachable(reason)


def _words(answer: bytes | str) -> str:
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
