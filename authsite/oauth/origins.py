"""The origins of `browser` clients: their scripts may call the token endpoint and its neighbors."""

import time
from collections.abc import Callable
from typing import NamedTuple

import structlog
from sqlalchemy import literal_column, select
from sqlalchemy.exc import SQLAlchemyError

from authsite.platform.context import Services
from authsite.platform.db import PreparedQuery

from .models import Client, ClientUri

LIFETIME = 10.0  # seconds
log = structlog.get_logger("authsite.oauth")


class RegisteredOrigin(NamedTuple):
    """An origin of at least one enabled client."""

    uri: str


ORIGINS = PreparedQuery(
    select(ClientUri.uri)
    .join(Client, Client.id == ClientUri.client_id)
    .where(
        ClientUri.kind == literal_column("'origin'"),
        Client.type == literal_column("'browser'"),
        Client.disabled_at.is_(None),
    )
    .distinct(),
    RegisteredOrigin,
)


class Origins:
    """What the database has, read again when it is older than `LIFETIME`.

    All origins are read at once, so that a stranger who sends new ones causes no query each.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """``now``: the monotonic clock, in seconds."""
        self._now = now
        self._known: frozenset[str] = frozenset()
        self._until = -LIFETIME

    def allows(self, services: Services, origin: str) -> bool:
        """Whether an enabled `browser` client has this origin, letter for letter."""
        now = self._now()
        if now >= self._until:
            try:
                self._known = frozenset(each.uri for each in ORIGINS.all(services.database))
            except SQLAlchemyError as error:  # the response is an error then, in any case
                log.warning("origins_not_read", error=type(error).__name__)
            self._until = now + LIFETIME
        return origin in self._known
