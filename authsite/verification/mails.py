"""The letters about addresses."""

from urllib.parse import quote

from sqlalchemy import bindparam, select

from authsite.keys import KeyRing
from authsite.mail.letters import Desk, Letter, Make
from authsite.users.models import User

from .signed_urls import PURPOSE, sign

_USER = select(User.email, User.pending_email, User.email_verified_at, User.name).where(
    User.id == bindparam("user_id"), User.disabled_at.is_(None)
)


def verification(desk: Desk) -> Letter | None:
    """The link that proves an address; None if it is proved already, or nobody's any more."""
    user = desk.database.one(_USER, {"user_id": desk.mail.user_id})
    address = desk.mail.address
    if user is None or not desk.mail.expires_at or not desk.mail.user_id:
        return None
    waits = address == user.pending_email or (
        address == user.email and user.email_verified_at is None
    )
    if not waits:
        return None
    ring = KeyRing(desk.cfg.secret, PURPOSE)
    base_url = desk.mail.base_url or ""
    signed = sign(ring, base_url, desk.mail.user_id, address, desk.mail.expires_at)
    return Letter(desk.mail.letter, with_query(desk.mail.page_url, url=signed), user.name)


def plain(desk: Desk) -> Letter | None:
    """A letter that only tells something; None if the user is gone."""
    user = desk.database.one(_USER, {"user_id": desk.mail.user_id})
    return Letter(desk.mail.letter, desk.mail.base_url, user.name) if user else None


def with_query(page_url: str | None, **values: str) -> str:
    """A page's address with more query parameters."""
    page_url = page_url or ""
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in values.items())
    return f"{page_url}{'&' if '?' in page_url else '?'}{query}"


LETTERS: dict[str, Make] = {
    "verification": verification,
    "confirm": verification,
    "welcome": plain,
    "email_changed": plain,
    "already_registered": plain,
}
