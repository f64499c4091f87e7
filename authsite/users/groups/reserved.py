"""The reserved groups, whose members are the administrators, and the scopes that these bind.

Their names, titles and scopes are defined here and nowhere else. There is no other word for what
an administrator may do.
"""

from collections.abc import Mapping
from typing import NamedTuple

PREFIX = "authsite:"
OWNER = "authsite:owner"


class ReservedGroup(NamedTuple):
    """A group that exists in every installation."""

    title: str
    scopes: tuple[str, ...]


def _scopes(action: str, objects: str) -> tuple[str, ...]:
    return tuple(f"admin:{each}:{action}" for each in objects.split())


_VIEWER = _scopes("read", "users sessions factors limits clients groups audit mail health")
_SUPPORT = (*_VIEWER, *_scopes("write", "sessions mail limits factors"))
_SECURITY = (
    *_SUPPORT,
    *_scopes("write", "users invitations"),
    *_scopes("read", "settings exports"),
)
_OWNER = (*_SECURITY, *_scopes("write", "clients groups"))

RESERVED: Mapping[str, ReservedGroup] = {
    "authsite:viewer": ReservedGroup("Viewers", _VIEWER),
    "authsite:support": ReservedGroup("Support", _SUPPORT),
    "authsite:security": ReservedGroup("Security", _SECURITY),
    OWNER: ReservedGroup("Owners", _OWNER),
}
ADMIN_SCOPES = frozenset(_OWNER)
"""All scopes that begin with ``admin:``. A ``write`` includes the ``read`` of the same object."""


def is_reserved(name: str) -> bool:
    """Whether no group of this name can be created: it begins with ``authsite:``."""
    return name.startswith(PREFIX)
