"""What a restored backup must not bring back.

A backup has everything as it was then: tokens and sessions that were ended since, the counters that
made used links invalid, changes of address that were canceled, and mails that were sent. The codes
of authenticator apps that were used since then would be accepted again, so those of now are spent.
"""

from typing import NamedTuple

from authsite.oauth import clients
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.db.engine import without_time_limit
from authsite.platform.mail import outbox
from authsite.sign_in.methods.totp.restored import spend_present_steps
from authsite.users import restored


class Ended(NamedTuple):
    """How many users and clients lost what was issued to them, and how many mails are held back."""

    users: int
    clients: int
    mails: int


def end_everything(ctx: Context) -> Ended:
    """End all tokens, sessions, reset links and pending changes of address; hold back all mails."""
    without_time_limit(ctx.db.connection())
    spend_present_steps(ctx.db)
    ended = Ended(
        restored.end_all_sign_ins(ctx.db), clients.end_all_tokens(ctx.db), outbox.hold_back(ctx.db)
    )
    record(ctx, Event.DATABASE_RESTORED)
    return ended
