"""Format names and lifetimes for mails."""

import re
import unicodedata
from datetime import datetime, timedelta

from authsite.i18n import duration_words

MAX_NAME = 60  # characters
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Text that a mail client makes a link of, or that looks like one: a scheme, a path, an address, or
# a dot (in any script) before two letters.
_LINK_LIKE = re.compile(r"[/\\@:<>]|[.。・·][^\W\d_]{2}", re.IGNORECASE)


def tame_name(name: str | None) -> str | None:
    """``name`` for the text of a mail, or None if it looks like a link.

    An attacker can register another person's address with a name such as "you won, see
    evil.example", which our mail would deliver (CVE-2026-48019). Control and direction characters
    are removed, and the name is cut to 60 characters.
    """
    text = unicodedata.normalize("NFKC", name or "")
    shown = "".join(char for char in text if unicodedata.category(char) not in _HIDDEN)
    shown = " ".join(shown.split())[:MAX_NAME].rstrip()
    return None if _LINK_LIKE.search(shown) else shown or None


def lifetime_words(created_at: datetime, expires_at: datetime, now: datetime, language: str) -> str:
    """How long a link works: "1 hour", "90 minutes"; in a late mail, the time that is left."""
    left = expires_at - now
    if now - created_at < timedelta(minutes=2):
        # The request read the clock for the expiry before it enqueued the mail.
        left = expires_at - created_at + timedelta(seconds=5)
    return duration_words(left, language)
