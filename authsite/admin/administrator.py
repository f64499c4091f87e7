"""Who does something as an administrator, and what this administrator may do.

A permission is a scope of `authsite.users.groups.reserved` without ``admin:``, such as
``users:read``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from authsite.platform.audit.cause import Cause
from authsite.platform.settings.values import ADMIN_PREFIX
from authsite.users.groups.labels import names
from authsite.users.groups.reserved import ADMIN_SCOPES, RESERVED


@dataclass(frozen=True, slots=True)
class Administrator:
    """A user in a reserved group, a client with scopes of administrators, or a command."""

    kind: Literal["user", "client", "command"]
    scopes: frozenset[str]
    id: UUID | None = None
    """The id of the user or client; None for a command."""

    def may(self, permission: str) -> bool:
        """Whether the administrator has a permission. ``write`` includes ``read``."""
        object_, _, action = permission.partition(":")
        actions = ("read", "write") if action == "read" else (action,)
        return any(f"{ADMIN_PREFIX}{object_}:{each}" in self.scopes for each in actions)

    @property
    def limit_subject(self) -> str:
        """The key of the caller in the limits."""
        return f"{self.kind} {self.id}"

    def cause(self, reason: str | None = None) -> Cause:
        """Who and why, for the audit trail."""
        return Cause(self.kind, str(self.id) if self.id else None, reason or None)


COMMAND = Administrator("command", ADMIN_SCOPES)
"""The operator, who runs a command."""


def reserved_groups(labels: str | None) -> tuple[str, ...]:
    """The reserved groups in ``users.labels``, whatever the level of a sign-in is."""
    return tuple(name for name in names(labels) if name in RESERVED)


def scopes_of(groups: Iterable[str]) -> frozenset[str]:
    """The scopes that reserved groups bind."""
    return frozenset(scope for name in groups for scope in RESERVED[name].scopes)
