"""The tables with data of users: one list for the exports, the import and the erasure.

Read by the person's export (GDPR, articles 15 and 20), ``authsite export``, and the erasure of a
user (article 17). Tests compare it with the tables, and its lines with what ``authsite import``
reads.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias
from uuid import UUID

from pydantic import ConfigDict, Field, with_config
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from authsite.platform.context import Context
from authsite.platform.db.base import Base
from authsite.platform.registrations import Registered

if TYPE_CHECKING:
    from pyramid.config import Configurator

exported_line = with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))
"""Decorator of the `TypedDict` of a line."""
Id: TypeAlias = Annotated[
    str, Field(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", title="UUID")
]
Moment: TypeAlias = Annotated[
    str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$", title="RFC 3339, UTC")
]


class Line(NamedTuple):
    """How ``authsite export`` writes the rows of a table."""

    plural: str
    """In the counts of the last line."""
    fields: type[Any]
    """A `TypedDict`; the value of its ``type`` is that of the lines."""
    columns: Mapping[str, str] = {}
    """Fields of the line whose column has another name; "" for one that only `complete` reads."""
    complete: Callable[[dict[str, Any]], None] | None = None
    """Replaces values of a line."""
    secret: bool = False
    """Whether the lines are for an export with secrets alone."""
    sealed: str = ""
    """The field with a sealed value (`platform.db.sealed`), whose line has the value in base32."""


class UserData(NamedTuple):
    """A table with data of users."""

    name: str
    """The part of the person's export."""
    model: type[Base]
    columns: str = ""
    """The columns in the person's export, separated by blanks; empty: the export has nothing of the
    table. Never a hash, a key, or what tokens and links are made of."""
    where: ColumnElement[bool] | None = None
    """The rows of this part, if the table has others."""
    user: str = "user_id"
    """The column with the id of the user. If it is the primary key, the part is one object."""
    rows: Callable[[Context, UUID], list[dict[str, Any]]] | None = None
    """Returns the rows, ready for JSON, of a table without such a column."""
    erase: Callable[[Session, UUID], None] | None = None
    """Deletes the rows of a user, where no foreign key does so. If they are ``retained``, removes
    the id of the user from them."""
    erase_address: Callable[[Session, str], None] | None = None
    """Deletes the rows that have the normalized address of an erased user, and no id of one."""
    retained: bool = False
    """Whether the rows remain when their user is erased."""
    line: Line | None = None
    """For a table that ``authsite export`` writes; also for one without users."""


USER_DATA = Registered[UserData]("parts of a user's data")


def add_user_data(config: "Configurator", *registered: UserData) -> None:
    """Directive: register tables; see `UserData`. They do not depend on the settings."""
    for data in registered:
        USER_DATA.add(config, data, data.name)


def includeme(config: "Configurator") -> None:
    """``config.add_user_data``."""
    config.add_directive("add_user_data", add_user_data)
