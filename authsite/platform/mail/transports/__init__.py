"""The transports. A new one is a module here and a case in `driver`."""

from collections.abc import Callable
from datetime import timedelta

from authsite.platform.mail.message import Mail

# The least time left on the lease when a transport begins to send the message. It must finish
# within this time, before another sender can claim the mail.
MIN_LEASE_AT_SEND = timedelta(seconds=55)

# A transport calls it right before it sends the message; raises `LeaseLost`.
BeforeSend = Callable[[], None]
Transport = Callable[[Mail, BeforeSend], None]


class PermanentFailure(Exception):
    """The server rejects this mail for good: no such mailbox, or because of its content."""


class TemporaryFailure(Exception):
    """The server defers this mail; it may accept another one."""


class SenderRejected(TemporaryFailure):
    """The server rejects us as the sender of this mail; once that is mended it may accept it."""


class Unreachable(Exception):
    """No mail can be sent: the server is down, hangs, rejects us, or fails verification."""


class LeaseLost(Exception):
    """The lease ended before the mail was sent, and another sender has claimed it."""
