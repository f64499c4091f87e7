"""Clients that are for the members of one group: ``clients.require_group``.

It is asked at every authorization request, login and refresh. A client that acts for itself is in
no group, and is not asked.
"""

from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.oauth.errors import GroupRequired, InvalidValue
from authsite.oauth.models import Client
from authsite.platform.i18n import _
from authsite.platform.settings import Settings
from authsite.platform.settings.values import RESERVED_SCOPES
from authsite.users.account import PHR, Account
from authsite.users.groups import labels
from authsite.users.groups.labels import ADMIN_SCOPES, RESERVED, Group


def check(settings: Settings, account: Account, require_group: str | None, acr: str | None) -> None:
    """Raise `GroupRequired` unless the user is in the group that the client requires, if any.

    ``acr``: the level of the sign-in; see `labels.shown`.
    """
    if not is_allowed(settings, account, require_group, acr):
        raise GroupRequired


def is_allowed(
    settings: Settings, account: Account, require_group: str | None, acr: str | None
) -> bool:
    """Whether the user is in the group that the client requires, or it requires none.

    A member whose sign-in is below the level of the group is not.
    """
    if require_group is None:
        return True
    return require_group in labels.shown(account.labels, acr, settings.admin_acr)


def is_member(settings: Settings, account: Account, require_group: str | None) -> bool:
    """Whether the user is in the group that the client requires, if any, at the highest level."""
    return is_allowed(settings, account, require_group, PHR)


def level_of(settings: Settings, account: Account, require_group: str | None) -> str | None:
    """The level that a member of the group needs; None if it has none, or the user is not in it."""
    if require_group is None:
        return None
    return labels.level_of(account.labels, require_group, settings.admin_acr)


def require_existing(db: Session, name: str) -> None:
    """Raise `ValueError` unless there is a group ``name`` that a client can require.

    It is not deleted before the transaction ends, in which the caller writes it to the client.
    """
    if name in RESERVED:
        return
    # FOR KEY SHARE: the deletion of a group locks its row, and then looks for clients.
    query = select(Group.name).where(Group.name == name).with_for_update(read=True, key_share=True)
    if db.scalar(query) is None:
        raise InvalidValue(
            _(
                "there is no group ${name}: create it with `authsite group create`",
                mapping={"name": repr(name)},
            )
        )


def clients_of(db: Session, name: str, limit: int = 3) -> list[str]:
    """The ids of up to ``limit`` clients that require the group ``name``, the oldest first."""
    query = select(Client.id).where(Client.require_group == name).order_by(Client.created_at)
    return [str(id_) for id_ in db.scalars(query.limit(limit))]


# The scopes that a client can be given here: those of the setting `scopes`, and our own.


def require_known(cfg: Settings, scope: str) -> None:
    """Raise ValueError for a scope that is not in ``authsite.scopes``, if that has any."""
    known = {*cfg.scopes, *ADMIN_SCOPES, *RESERVED_SCOPES}
    unknown = set(scope.split()) - known if cfg.scopes else set()
    if unknown:
        raise InvalidValue(
            _(
                "unknown scope ${unknown}: add it to authsite.scopes, which has ${scopes}",
                mapping={"unknown": ", ".join(sorted(unknown)), "scopes": ", ".join(cfg.scopes)},
            )
        )
