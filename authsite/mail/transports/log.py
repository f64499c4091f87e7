"""The driver ``log``: the mail goes to the log instead of to its reader, for trying out.

Mails hold links that open accounts, so they have a logger of their own, ``authsite.mail``, which
writes plain lines to the console and hands nothing on to the ordinary log (M04).
"""

import logging

from authsite.mail.message import Mail
from authsite.settings import Settings

from .transport import LastWord, Transport

_log = logging.getLogger("authsite.mail")
_SHOWN = ("Date", "From", "To", "Message-ID", "Auto-Submitted")
_TOP = "---- mail: shown here and not sent, since mail-driver is log ".ljust(78, "-")
_BOTTOM = "---- end of mail ".ljust(78, "-")


def transport(_cfg: Settings) -> Transport:
    """Writes to the logger ``authsite.mail``; one that has handlers already keeps them."""
    if not _log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        _log.addHandler(handler)
        _log.setLevel(logging.INFO)
        _log.propagate = False

    def show(mail: Mail, last_word: LastWord) -> None:
        last_word()
        # One record: the lines of two mails at once do not mix.
        _log.info("%s", as_text(mail))

    return show


def as_text(mail: Mail) -> str:
    """The mail as a person reads it: no line is wrapped, so that a link can be copied."""
    headers = [f"{name}: {mail.message[name]}" for name in _SHOWN]
    html = "(The same as HTML was left out here.)"
    parts = ["", _TOP, *headers, f"Subject: {mail.subject}", "", mail.text.rstrip(), "", html]
    return "\n".join([*parts, _BOTTOM])
