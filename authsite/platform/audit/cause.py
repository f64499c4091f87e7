"""Who has an administrator's action done, and why: keys of an event's ``details``."""

from typing import Literal, NamedTuple

from .models import Detail

MAX_REASON = 200  # characters


class Cause(NamedTuple):
    """The actor of an action and the reason that was given for it.

    ``kind``: a user, a client, or a command of the operator, which has no ``id``.
    """

    kind: Literal["user", "client", "command"]
    id: str | None = None
    reason: str | None = None

    def details(self, **more: str) -> dict[str, Detail]:
        """The details of the event: ``more``, ``actor`` and ``reason``."""
        reason: dict[str, Detail] = {"reason": self.reason} if self.reason else {}
        return {**more, "actor": {"kind": self.kind, "id": self.id}, **reason}


def details_of(cause: Cause | None, **more: str) -> dict[str, Detail] | None:
    """The details of an event that may have an administrator's ``cause``; None without any."""
    if cause is not None:
        return cause.details(**more)
    return {**more} or None
