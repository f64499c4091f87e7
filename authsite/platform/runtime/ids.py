"""Ids as text: UUIDs in canonical form (RFC 9562, section 4)."""

import re
from uuid import UUID

_CANONICAL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"[1-9][0-9]{0,18}")
_HEX_DIGITS = re.compile(r"[0-9a-f]{32}")


def as_id(text: str) -> UUID | None:
    """The id in ``text``; None unless it has the canonical form in lower case.

    So each id has one spelling, and any other text may be a username.
    """
    return UUID(text) if _CANONICAL.fullmatch(text) else None


def as_client_id(text: str) -> UUID | None:
    """The id of a client in ``text``: canonical, or the number of an imported client.

    Laravel Passport numbered its clients. The client 2 is imported as the id whose last digits are
    2, and the applications that send ``client_id=2`` need no change.
    """
    return UUID(int=int(text)) if _NUMBER.fullmatch(text) else as_id(text)


def looks_like_id(name: str) -> bool:
    """Whether a username looks like a UUID, with any separators."""
    return _HEX_DIGITS.fullmatch(re.sub(r"[-._]", "", name)) is not None
