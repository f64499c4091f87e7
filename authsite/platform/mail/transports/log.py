"""The driver ``log``: writes mails to the log instead of sending them, for development.

Mails contain links that give access to accounts, so they have a separate logger, ``authsite.mail``,
which writes plain lines to the console and does not propagate to the application's log (M04).
"""

import logging
from pathlib import Path

from authsite.platform.mail.message import Mail
from authsite.platform.mail.pages import prune

from . import BeforeSend, Transport
from .file import writer

_log = logging.getLogger("authsite.mail")
_SHOWN = ("Date", "From", "To", "Message-ID", "Auto-Submitted", "Subject")
_TOP = "---- mail: shown here and not sent, since mail-driver is log ".ljust(78, "-")
_BOTTOM = "---- end of mail ".ljust(78, "-")


def transport(copies: Path | None = None) -> Transport:
    """Writes to the logger ``authsite.mail``, whose existing handlers are kept.

    With ``copies`` it also keeps the latest mails in this folder, for `/dev/mail`.
    """
    write_copy = copies and writer(copies)
    if not _log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        _log.addHandler(handler)
        _log.setLevel(logging.INFO)
        _log.propagate = False

    def show(mail: Mail, before_send: BeforeSend) -> None:
        before_send()
        if copies and write_copy:
            write_copy(mail)
            prune(copies)
        # One record, so that the lines of concurrent mails do not mix.
        _log.info("%s", as_text(mail))

    return show


def as_text(mail: Mail) -> str:
    """The mail as readable text. Lines are not wrapped, so that a link can be copied."""
    headers = [f"{name}: {mail.message[name]}" for name in _SHOWN]
    body = mail.message.get_body(("plain",))
    text = body.get_content().rstrip() if body else ""
    html = "(The same as HTML was left out here.)"
    return "\n".join(["", _TOP, *headers, "", text, "", html, _BOTTOM])
