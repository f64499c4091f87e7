"""How many users a rule about e-mail addresses concerns, for `authsite doctor`."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Select, func, not_, or_, select

from .models import LoginName, User


class Census(NamedTuple):
    """Numbers of enabled users: without a confirmed address, and with one of another domain."""

    unconfirmed: int
    of_other_domains: int


def count_users(connection: Connection, domains: Sequence[str]) -> Census:
    """Count the enabled users that ``registration = domains`` concerns; it reads all users."""
    unconfirmed = _enabled().where(User.email_verified_at.is_(None))
    of_domains = or_(*(LoginName.key.endswith(f"@{each}", autoescape=True) for each in domains))
    others = (
        _enabled()
        .join(LoginName, LoginName.user_id == User.id)
        .where(LoginName.kind == "email", not_(of_domains))
    )
    return Census(connection.scalar(unconfirmed) or 0, connection.scalar(others) or 0)


def _enabled() -> Select[int]:
    return select(func.count(User.id)).where(User.disabled_at.is_(None))
