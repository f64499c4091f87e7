"""A column that finds a name by what a person types, whatever the case or the database.

The database's own ``lower`` knows only ASCII in SQLite, and in PostgreSQL with the collation C.
"""

from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column, validates

from authsite.platform.runtime.lines import folded

# Characters: enough for a search. An index of PostgreSQL takes no value of more than 2704 bytes.
LONGEST = 200


def folded_name(name: str | None) -> str | None:
    """The value of the column for this name, and the text to compare it with."""
    return None if name is None else folded(name)[:LONGEST]


class FoldedName:
    """Adds ``folded_name`` to a model with ``name``; each insert and assignment writes it."""

    folded_name: Mapped[str | None] = mapped_column(
        String(LONGEST),
        default=lambda context: folded_name(context.get_current_parameters().get("name")),
    )

    @validates("name")
    def _fold(self, _key: str, name: Any) -> Any:
        self.folded_name = folded_name(name)
        return name
