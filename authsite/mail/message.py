"""From a rendered letter to a mail that can travel (RFC 5322)."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from email.charset import QP, Charset
from email.header import Header
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.utils import format_datetime, formataddr, parseaddr
from typing import Any

from authsite.settings import Settings

from .leases import Claimed
from .rendering import Rendered

# SMTP allows 998 octets in a line (RFC 5321, 4.5.3.1.6); some servers count the line end twice.
_MAX_LINE = 990
_UTF8 = Charset("utf-8")
_UTF8.body_encoding = QP


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail, finished: the envelope, its words, and the message in ASCII."""

    id: uuid.UUID
    letter: str
    created_at: datetime
    sender: str
    recipient: str
    subject: str
    text: str
    message: MIMEMultipart


def compose(row: Claimed, rendered: Rendered, cfg: Settings, now: datetime) -> Mail:
    """The mail of ``row``: every attempt gives the same Message-ID.

    Headers hold the settings' own text and the address of the outbox, which `outbox.put` found
    to be one address and nothing else; nothing else that a user wrote comes near them.
    """
    display, sender = parseaddr(cfg.mail_from)
    message = MIMEMultipart("alternative")
    message["From"] = formataddr((display, sender))
    message["To"] = row.address
    message["Subject"] = _encoded(rendered.subject)
    message["Date"] = format_datetime(now)
    message["Message-ID"] = f"<{row.id}@{sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no automatic answers, please
    message.attach(_part(rendered.text, "plain"))
    message.attach(_part(rendered.html, "html"))
    return Mail(
        id=row.id,
        letter=row.letter,
        created_at=row.created_at,
        sender=sender,
        recipient=row.address,
        subject=rendered.subject,
        text=rendered.text,
        message=message,
    )


def _encoded(subject: str) -> str:
    return subject if subject.isascii() else Header(subject, "utf-8").encode()


def _part(text: str, subtype: str) -> MIMEText:
    # Plain ASCII travels as it is: a link stays on one line even in the raw mail.
    plain = text.isascii() and all(len(line) <= _MAX_LINE for line in text.splitlines())
    charset: Any = "us-ascii" if plain else _UTF8  # typeshed knows no Charset here
    return MIMEText(text, subtype, charset)
