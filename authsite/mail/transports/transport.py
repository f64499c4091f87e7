"""What a transport is, and the ways in which one can fail."""

from collections.abc import Callable
from datetime import timedelta

from authsite.mail.message import Mail

# What is left of the lease, at least, after the last word: from there on a transport must be
# done, one way or the other, before another sender may take the mail.
LAST_WORD_LEASE = timedelta(seconds=55)

# Called at the last moment before a mail can no longer be called back; raises `LeaseLost`.
LastWord = Callable[[], None]
Transport = Callable[[Mail, LastWord], None]


class Refused(Exception):
    """This mail will never be taken: no such mailbox, or refused for what is in it."""


class NotNow(Exception):
    """This mail was not taken now; another one may be."""


class Unreachable(Exception):
    """No mail can leave: the server is away, hangs, refuses us, or is not who it should be."""


class LeaseLost(Exception):
    """It took so long to get here that another sender has the mail by now."""
