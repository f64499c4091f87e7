"""The declarative base of all tables, its naming convention and types; the database's clock."""

import uuid
from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import DateTime, Dialect, MetaData, TypeDecorator, Uuid
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcDateTime(TypeDecorator[datetime]):
    """An aware moment in UTC. Raises `ValueError` for a naive one."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[datetime]:
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(
                "a naive datetime was given: use authsite.platform.runtime.clock.now()"
            )
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """The base of all tables."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map: ClassVar[dict[Any, Any]] = {datetime: UtcDateTime(), uuid.UUID: Uuid()}


class database_now(FunctionElement[datetime]):
    """The time at which the statement runs, by the clock of the database."""

    type = UtcDateTime()
    inherit_cache = True


@compiles(database_now, "postgresql")
def _on_postgresql(*_: object, **__: object) -> str:
    return "clock_timestamp()"


@compiles(database_now, "sqlite")
def _on_sqlite(*_: object, **__: object) -> str:
    # In the format in which SQLAlchemy stores a time.
    return "strftime('%Y-%m-%d %H:%M:%f000', 'now')"
