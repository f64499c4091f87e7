"""`Services`, one for each application, and `Context`, one for each request or command.

A use case takes a `Context` as its first argument. It does not see a request.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy.orm import Session

from authsite.platform.crypto.keys import Keys
from authsite.platform.crypto.sealing import SealingKeys, sealing_keys
from authsite.platform.db.engine import Database, open_database
from authsite.platform.db.last_used import LastUsedTracker, precision
from authsite.platform.db.privileges import warn_of_superuser
from authsite.platform.db.standbys import Standbys
from authsite.platform.http.outbound_slots import OutboundSlots
from authsite.platform.passwords import HashPool, Passwords
from authsite.platform.registrations import Registrations
from authsite.platform.settings import Settings, load_at_start, revealed

if TYPE_CHECKING:
    from pyramid.config import Configurator

    from authsite.platform.http.request_info import RequestInfo
    from authsite.platform.rate_limit.caller_limits import CallerLimits
    from authsite.platform.rate_limit.limiter import RateLimiter


OF_COMMAND = "authsite.services_of_command"
"""The key of the registry with the services of a command that needs the registrations."""


class Job(NamedTuple):
    """A background task of this process, not yet on its thread."""

    run: Callable[[], None]
    stop: Callable[[], None]
    """Make ``run`` return soon; called when the process ends."""
    stop_timeout: float
    """Seconds that the process then waits for ``run``."""


@dataclass(frozen=True, slots=True)
class Services:
    """Objects of the application's lifetime. ``rate_limits`` is None with ``limits = off``.

    ``recognition``: where the addresses are noted that users have signed in from, whatever `limits`
    says; None for commands.

    ``mail_copies``: the folder of what `/dev/mail` shows, if `authsite serve` has made one.
    """

    settings: Settings
    database: Database
    keys: Keys
    sealing: SealingKeys
    passwords: Passwords
    rate_limits: "RateLimiter | None"
    last_used: LastUsedTracker
    registrations: Registrations = field(default_factory=Registrations)
    mail_copies: Path | None = None
    recognition: "RateLimiter | None" = None
    outbound_slots: OutboundSlots = field(default_factory=OutboundSlots)
    open_features: set[str] = field(default_factory=set)
    """What `installation.features.is_open` has found open."""
    standbys: Standbys | None = None
    """With `database-read-url`: what guards and introspection may read from."""


def make_services(settings: Settings, *, limits: bool = True) -> Services:
    """Create the services; this opens no connection.

    Commands need no rate limits: without ``limits`` the library for them is not imported.
    """
    database = open_database(settings.database_url.reveal())
    read_urls = revealed(settings.database_read_url)
    standbys = Standbys(database, read_urls, settings.database_read_lag) if read_urls else None
    limiter = None
    if limits:
        from authsite.platform.rate_limit.limiter import make_limiter

        limiter = make_limiter(settings, database)
    return Services(
        settings=settings,
        database=database,
        keys=Keys(revealed((*settings.secret, *settings.secret_next))),
        sealing=sealing_keys(
            revealed(settings.sealing_key),
            revealed((*settings.secret, *settings.secret_next)),
            revealed(settings.sealing_key_next),
        ),
        passwords=Passwords(
            settings.bcrypt_cost,
            revealed(settings.password_pepper),
            HashPool(settings.hash_threads),
            revealed(settings.password_pepper_next),
        ),
        rate_limits=limiter if settings.limits else None,
        recognition=limiter,
        last_used=LastUsedTracker(database, precision(settings.session_idle)),
        standbys=standbys,
    )


class Context:
    """The environment of a use case in one request or command.

    ``settings``, ``database`` (for prepared queries, which are outside the transaction) and
    ``passwords`` are those of ``services``. The first use of `request_info`, `db` and `limits`
    calls ``make_info``, ``open_session`` and ``open_limits``.
    """

    def __init__(
        self,
        services: Services,
        make_info: "Callable[[], RequestInfo]",
        open_session: Callable[[], Session],
        open_limits: "Callable[[], CallerLimits] | None" = None,
    ) -> None:
        self.services = services
        self.settings, self.database = services.settings, services.database
        self.passwords = services.passwords
        self._make_info = make_info
        self._open_session = open_session
        self._open_limits = open_limits

    @cached_property
    def request_info(self) -> "RequestInfo":
        """What use cases and audit events need to know of the request."""
        return self._make_info()

    @cached_property
    def db(self) -> Session:
        """The session in the request's transaction; in AUTOCOMMIT if the request only reads.

        Raises `RuntimeError` if a request that may write has no transaction.
        """
        return self._open_session()

    @property
    def has_session(self) -> bool:
        """Whether `db` was used: else there is nothing to commit."""
        return "db" in vars(self)

    @cached_property
    def limits(self) -> "CallerLimits":
        """The rate limits of the caller; a command has none."""
        if self._open_limits is None:
            from authsite.platform.rate_limit.caller_limits import CallerLimits

            return CallerLimits(None, self.services.keys, "-")
        return self._open_limits()


def includeme(config: "Configurator") -> None:
    """Set ``registry["authsite"]``."""
    services = config.registry.pop(OF_COMMAND, None)
    if services is None:
        services = replace(
            make_services(load_at_start(config.registry.settings)),
            mail_copies=getattr(config.registry.get("authsite.http"), "mail_copies", None),
        )
        warn_of_superuser(services.database.transactional)
    config.registry["authsite"] = services
