"""What the parts of an import need to know of those before them."""

from dataclasses import dataclass, field
from uuid import UUID

from .seen import Seen


@dataclass
class Before:
    """What the parts before this one have left out, and, in a dry run, would have written."""

    refused_users: set[str] = field(default_factory=set)
    """Their ids in the source: a user of the same id here may be another person."""
    groups: set[str] = field(default_factory=set)
    clients: dict[UUID, str] = field(default_factory=dict)
    """The types of the clients that were written, by id."""
    seen: Seen | None = None
