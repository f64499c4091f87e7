"""Which invitations are open: not expired, by an inviter with the right, to a group that exists."""

from datetime import datetime

from sqlalchemy import ColumnElement, Exists, and_, exists, literal, or_, select

from authsite.oauth.models import Client
from authsite.platform.settings import Settings
from authsite.users.groups.labels import RESERVED, Group, GroupMember
from authsite.users.models import User

from .models import Invitation

INVITE = "admin:invitations:write"
CHOOSE_GROUP = "admin:groups:write"
"""What an inviter must be allowed; the second one for an invitation to a group."""


def open_now(now: datetime, settings: Settings) -> tuple[ColumnElement[bool], ...]:
    """Conditions for the rows whose links work. They are asked again when one is used.

    A group that was deleted and created again is another one.
    """
    of_group = and_(Group.name == Invitation.group_name, Group.created_at <= Invitation.created_at)
    in_no_group = Invitation.group_name.is_(None)
    return (
        literal(settings.invitations_open),
        Invitation.expires_at > now,
        or_(in_no_group, exists().where(of_group).correlate(Invitation)),
        or_(
            and_(Invitation.inviter_id.is_(None), Invitation.client_id.is_(None)),
            and_(_of_user(INVITE), or_(in_no_group, _of_user(CHOOSE_GROUP))),
            and_(_of_client(INVITE), or_(in_no_group, _of_client(CHOOSE_GROUP))),
        ),
    )


def _of_user(scope: str) -> Exists:
    """Whether the inviter is an enabled user in a group that binds ``scope``."""
    groups = [name for name, group in RESERVED.items() if scope in group.scopes]
    return (
        select(GroupMember.user_id)
        .join(User, User.id == GroupMember.user_id)
        .where(
            GroupMember.user_id == Invitation.inviter_id,
            GroupMember.group_name.in_(groups),
            User.disabled_at.is_(None),
        )
        .exists()
        .correlate(Invitation)
    )


def _of_client(scope: str) -> Exists:
    """Whether the inviter is an enabled client that has ``scope``."""
    return (
        exists()
        .where(
            Client.id == Invitation.client_id,
            Client.disabled_at.is_(None),
            (literal(" ") + Client.scope + " ").contains(f" {scope} ", autoescape=True),
        )
        .correlate(Invitation)
    )
