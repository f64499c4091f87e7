"""Features that an older version of authsite would overlook, and when they may be used.

An older version runs on the schema of a newer one. A condition that it does not know, it does not
check. So the first use of such a feature writes its name to the table `used_features`: a
process that does not know a name in it is not ready, and does not start. While an upgrade is not
finished, older processes may run that have not looked yet; then the feature cannot be used.
"""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import String, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.context import Context, Services
from authsite.platform.db import Database, migrate, open_database
from authsite.platform.db.base import Base
from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import _
from authsite.platform.settings import Settings

# The tables of what an installation records about itself.


class InstallationRecord(Base):
    """One fact, by its name."""

    __tablename__ = "installation_records"

    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    value: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime]
    """When it was recorded."""


class UsedFeature(Base):
    """A feature that an older version would overlook, and that is used (`features`)."""

    __tablename__ = "used_features"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)


# Each feature that this version knows and the first one did not, and the revision of the schema
# that came with it: a process that knows this revision knows the feature.
FEATURES: dict[str, str] = {}

_INSERT = text("INSERT INTO used_features (name) VALUES (:name) ON CONFLICT (name) DO NOTHING")
UNKNOWN = (
    "the database uses features that this version of authsite does not know: {names}. It would "
    "overlook them. Install the version that used them, or a newer one"
)


class FeatureNotOpen(ApiError):
    """An upgrade of the database is not finished, so that the feature cannot be used yet."""

    summary = "The upgrade of the service is not finished."
    status = 409
    code = "not_yet"
    message = _(
        "This cannot be used yet: the service is being upgraded. Its operator has to run "
        "“authsite db upgrade --finish” when all its processes have the new version."
    )


class UnknownFeatures(RuntimeError):
    """The database uses features that this version does not know."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(UNKNOWN.format(names=", ".join(names)))


def unknown(database: Database) -> list[str]:
    """The names of used features that this version does not know. Raises SQLAlchemy's errors."""
    with database.autocommit.connect() as connection:
        names = connection.scalars(select(UsedFeature.name).order_by(UsedFeature.name)).all()
    return [name for name in names if name not in FEATURES]


def refuse_other_versions(settings: Settings) -> None:
    """Raise if the database is one that only another version can use.

    `UnknownFeatures` if it uses a feature that this version does not know, and `UnreleasedSchema`
    if a version before the first release has made it. Without a usable database nothing happens:
    the process starts, and waits for it. No connection stays open, since a server may fork its
    processes afterwards.
    """
    database = open_database(settings.database_url.reveal())
    try:
        migrate.refuse_unreleased(database)
        names = unknown(database)
    except SQLAlchemyError:
        return
    finally:
        database.dispose()
    if names:
        raise UnknownFeatures(names)


def is_open(services: Services, name: str) -> bool:
    """Whether the feature may be used: every process that may run knows it.

    Once it is open it stays so, and costs no query. Before the schema is upgraded the processes of
    the former version run, too. Raises SQLAlchemy's errors.
    """
    if name not in services.open_features:
        former = migrate.former_revision(services.database)
        if former is None:
            former = migrate.current(services.database) or ""
        if former < FEATURES[name]:
            return False
        services.open_features.add(name)
    return True


def use(ctx: Context, name: str) -> None:
    """Record that the feature is used, in the transaction of its use.

    Call it wherever rows are written that an older version would overlook, in imports, too. Raises
    `FeatureNotOpen` before anything is written, and SQLAlchemy's errors.
    """
    if not is_open(ctx.services, name):
        raise FeatureNotOpen
    ctx.db.connection().execute(_INSERT, {"name": name})
