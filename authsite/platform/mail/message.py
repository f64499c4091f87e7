"""Compose the message of a rendered mail (RFC 5322)."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy

from authsite.platform.settings import Settings
from authsite.platform.settings.mailboxes import Mailbox, mailbox

from .leases import ClaimedMail
from .rendering import Rendered

# SMTP allows 998 octets in a line (RFC 5321, 4.5.3.1.6); some servers count the line end twice.
_MAX_LINE = 990


class _Policy(EmailPolicy):
    """The default policy, which leaves out quotes where it folds a From with a long name."""

    def fold(self, name: str, value: str) -> str:
        if name != "From":
            return str(super().fold(name, value))
        [address] = value.addresses  # type: ignore[attr-defined]
        sender = Mailbox(address.display_name, address.addr_spec)
        return f"{name}: {_written(sender)}{self.linesep}"

    def fold_binary(self, name: str, value: str) -> bytes:
        if name != "From":
            return bytes(super().fold_binary(name, value))
        return self.fold(name, value).encode("ascii")


def _written(sender: Mailbox) -> str:
    """The mailbox in ASCII: a name in quotes if it needs them, or encoded (RFC 2047)."""
    name = sender.name
    if name.isascii() and "=?" not in name:
        return str(sender)
    return f"{Header(name, 'utf-8', header_name='From').encode()} <{sender.address}>"


@dataclass(frozen=True, slots=True)
class Mail:
    """A composed mail: the envelope and the message, whose serialization is ASCII."""

    id: uuid.UUID
    kind: str
    created_at: datetime
    sender: str
    recipient: str
    message: EmailMessage


def compose(row: ClaimedMail, rendered: Rendered, cfg: Settings, now: datetime) -> Mail:
    """The mail of ``row``. Its Message-ID is the same for every delivery attempt.

    Headers contain text from the settings and the recipient's address, which `outbox.put` has
    checked; no other input of a user.
    """
    name, sender = mailbox(cfg.mail_from)
    message = EmailMessage(policy=_Policy())
    message["From"] = Address(display_name=name, addr_spec=sender)
    message["To"] = row.address
    message["Subject"] = rendered.subject
    message["Date"] = now
    message["Message-ID"] = f"<{row.id}@{sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"  # asks for no automatic replies (RFC 3834)
    charset, cte = _encoding(rendered.text)
    message.set_content(rendered.text, charset=charset, cte=cte)
    charset, cte = _encoding(rendered.html)
    message.add_alternative(rendered.html, subtype="html", charset=charset, cte=cte)
    return Mail(row.id, row.kind, row.created_at, sender, row.address, message)


def _encoding(text: str) -> tuple[str, str]:
    """The charset and the Content-Transfer-Encoding of ``text``."""
    # Plain ASCII needs no encoding, so a link stays on one line even in the raw mail.
    if text.isascii() and all(len(line) <= _MAX_LINE for line in text.splitlines()):
        return "us-ascii", "7bit"
    return "utf-8", "quoted-printable"
