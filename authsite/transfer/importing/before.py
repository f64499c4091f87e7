"""What the parts of an import need to know of those before them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import select

from authsite.platform.context import Context
from authsite.users.models import User

from .row_values import new_id
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

    def users(self, ctx: Context, system: str, source_ids: Iterable[str]) -> Mapping[str, UUID]:
        """The users that were imported, now or before, or would be: id in the source -> our id."""
        wanted = {each for each in source_ids if each.lower() not in self.refused_users}
        ids = {source_id: new_id(system, source_id) for source_id in wanted}
        found = set(ctx.db.scalars(select(User.id).where(User.id.in_(ids.values()))))
        if self.seen:
            found |= self.seen.users(list(ids.values())).keys()
        return {source_id: id_ for source_id, id_ in ids.items() if id_ in found}
