"""The letters about passwords."""

from sqlalchemy import bindparam, select

from authsite.keys import KeyRing
from authsite.mail.letters import Desk, Letter, Make
from authsite.users.models import User
from authsite.verification.mails import plain, with_query

from .tokens import PURPOSE, make

_USER = select(User.id, User.epoch, User.email, User.name).where(
    User.id == bindparam("user_id"), User.disabled_at.is_(None)
)


def reset(desk: Desk) -> Letter | None:
    """The link to the reset page; None if the user is gone or has another address by now.

    The token is made for the epoch of this moment: a password that was changed since the letter
    was asked for does not kill a link that its reader has just received.
    """
    user = desk.database.one(_USER, {"user_id": desk.mail.user_id})
    if user is None or user.email != desk.mail.address or not desk.mail.expires_at:
        return None
    ring = KeyRing(desk.cfg.secret, PURPOSE)
    token = make(ring, user.id, user.epoch, user.email, desk.mail.expires_at)
    link = with_query(desk.mail.page_url, email=user.email, token=token)
    return Letter("reset", link, user.name)


LETTERS: dict[str, Make] = {"reset": reset, "password_changed": plain}
