"""Make the `RateLimiter` and the storage that the settings describe; nothing connects yet."""

from datetime import timedelta
from importlib import import_module
from typing import Any, cast

from limits import RateLimitItem, RateLimitItemPerSecond, parse_many
from limits.errors import ConfigurationError
from limits.storage import Storage, storage_from_string

from authsite.platform.db.engine import Database
from authsite.platform.settings import InvalidSetting, Settings, SettingsError

from .fallback import FallbackStorage, LocalStorage
from .limiter import RateLimiter, subject_key
from .storage import DatabaseStorage

# Seconds. A storage on the network normally answers in one or two milliseconds. Requests must not
# be delayed by a storage that fails.
TIMEOUT = 0.08


def make_limiter(settings: Settings, database: Database) -> RateLimiter:
    """The limiter that ``settings`` describe. Raises `SettingsError`."""
    windows = {
        name: sorted(parse_many(value), key=RateLimitItem.get_expiry)
        for name, value in settings.limit_values.items()
    }
    # While the limit suppresses mails, the link of an earlier mail must still work.
    windows["forgot-email"] = [
        _at_most(item, settings.reset_expires_in) for item in windows["forgot-email"]
    ]
    storage, key = make_storage(settings, database), subject_key(settings)
    return RateLimiter(storage, windows, key, settings.own_networks)


def make_storage(settings: Settings, database: Database) -> Storage:
    """The storage that all limits are counted in.

    Raises `SettingsError` when the library that the storage needs is not installed.
    """
    storage = settings.limits_storage.reveal()
    if storage == "memory":
        return LocalStorage()
    if storage == "database":
        return FallbackStorage(lambda: DatabaseStorage(database))
    return _redis(storage)


def _redis(url: str) -> Storage:
    package = "valkey" if url.startswith("valkey") else "redis"
    options: dict[str, Any] = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
    try:
        # Redis and Valkey are the same library under two names.
        errors = import_module(f"{package}.exceptions")
        backoff, retry = import_module(f"{package}.backoff"), import_module(f"{package}.retry")
    except ImportError:
        advice = f"this storage needs a package: pip install {package}, or take `database`"
        raise SettingsError([InvalidSetting("authsite.limits-storage", advice)]) from None
    # The default is three retries with pauses of seconds.
    options["retry"] = retry.Retry(backoff.NoBackoff(), 0)

    def connect() -> Storage:
        return cast(Storage, storage_from_string(url, wrap_exceptions=True, **options))

    if "+cluster" in url:
        # It is not a subclass of the library's other errors, which `limits` wraps.
        return FallbackStorage(connect, (getattr(errors, f"{package.title()}ClusterException"),))
    try:
        storage = connect()  # it connects when it is first used
    except (ConfigurationError, ValueError):
        advice = (
            "give redis://host:6379/0, redis+sentinel://host:26379/name or"
            " redis+cluster://host:6379,host:6379"
        )
        raise SettingsError([InvalidSetting("authsite.limits-storage", advice)]) from None
    return FallbackStorage(lambda: storage)


def _at_most(item: RateLimitItem, longest: timedelta) -> RateLimitItem:
    if item.get_expiry() <= longest.total_seconds():
        return item
    return RateLimitItemPerSecond(item.amount, max(1, int(longest.total_seconds())))
