"""Opening the storage that `limits-storage` names."""

from typing import Any, cast

from limits.errors import ConfigurationError
from limits.storage import Storage, storage_from_string

from authsite.db import Database
from authsite.settings import Problem, Settings, SettingsError

from .degrading import DegradingStorage, LocalStorage
from .storage import DatabaseStorage

# Seconds. A storage on the network answers in one or two thousandths, or it is in trouble: the
# requests under way at that moment must not be held up by it.
PATIENCE = 0.08


def open_storage(cfg: Settings, database: Database) -> Storage:
    """The storage that all limits are counted in; connects to nothing yet.

    Raises `SettingsError` when the library that the storage needs is not installed.
    """
    if cfg.limits_storage == "memory":
        return LocalStorage()
    if cfg.limits_storage == "database":
        return DegradingStorage(DatabaseStorage(database))
    return DegradingStorage(_open_redis(str(cfg.limits_storage)))


def _open_redis(url: str) -> Storage:
    scheme = url.partition(":")[0]
    package = "valkey" if scheme.startswith("valkey") else "redis"
    options: dict[str, Any] = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}
    try:
        if package == "redis":
            from redis.backoff import NoBackoff
            from redis.retry import Retry

            # By default it tries three times more, with pauses of seconds between.
            options["retry"] = Retry(NoBackoff(), 0)
        return cast(Storage, storage_from_string(url, wrap_exceptions=True, **options))
    except (ImportError, ConfigurationError):
        advice = f"this storage needs a package: pip install {package}, or take `database`"
        raise SettingsError([Problem("authsite.limits-storage", advice)]) from None
