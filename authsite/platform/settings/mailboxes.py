"""The mailbox of a setting: ``address``, or a name and an address (RFC 5322, section 3.4)."""

import re
from typing import NamedTuple

from .values import single_line

MAX_NAME = 200  # characters
_ADDRESS = re.compile(r"[!#-'*+/-9=?A-Z^-~.-]{1,64}@[A-Za-z0-9._-]{1,253}")
_NAMED = re.compile(r'(?:"((?:[^"\\]|\\.)*)" *|([^"<>@]*))<([^<>\s]+)>')
_SPECIAL = re.compile(r'[][()<>@,:;.\\"]')  # RFC 5322, section 3.2.3


class Mailbox(NamedTuple):
    """A name, which may be empty, and an address."""

    name: str
    address: str

    def __str__(self) -> str:
        if not self.name:
            return self.address
        escaped = re.sub(r'([\\"])', r"\\\1", self.name)
        name = f'"{escaped}"' if _SPECIAL.search(self.name) else self.name
        return f"{name} <{self.address}>"


def mailbox(text: str) -> Mailbox:
    """The name and the address of ``text``. Raises `ValueError`.

    Quotes around the name are optional, whatever it has: ``Dr. Smith: Co <a@example.org>``.
    """
    text = text.strip()
    parts = _NAMED.fullmatch(text)
    quoted, plain, address = parts.groups() if parts else (None, "", text)
    if not _ADDRESS.fullmatch(address):
        raise ValueError(
            "give one address: noreply@example.org, My site <noreply@example.org>, or a name in"
            ' quotes, "My site" <noreply@example.org>'
        )
    name = plain.strip() if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return Mailbox(single_line(MAX_NAME)(name), address)


def mail_address(text: str) -> str:
    """A sender on one line: ``address`` or ``Name <address>``, with the name quoted if need be."""
    return str(mailbox(text))
