"""Mails as objects, as API and commands print them: never a text, a link or a whole address."""

import re

from authsite.platform.runtime import clock

from .models import OutboxMessage


def facts(item: OutboxMessage) -> dict[str, str | int | None]:
    """A mail; ``failed`` is one that waits for another try."""
    failed = item.state == "waiting" and item.delivery_attempts > 0
    waiting = item.state == "waiting"
    return {
        "id": str(item.id),
        "letter": item.kind,
        "to": shortened(item.address),
        "state": "failed" if failed else item.state,
        "attempts": item.delivery_attempts,
        "last_error": (without_address(item.address, item.last_error) if item.last_error else None),
        "next_attempt_at": clock.rfc3339(item.next_attempt_at) if waiting else None,
        "created_at": clock.rfc3339(item.created_at),
    }


def without_address(address: str, error: str) -> str:
    """The error of a mail server, which often repeats the address, without it."""
    return re.sub(re.escape(address), lambda _: shortened(address), error, flags=re.IGNORECASE)


def shortened(address: str) -> str:
    """The first character and the domain of ``address``: recognizable, but not usable."""
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}"
