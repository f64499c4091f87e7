"""The URIs of a client: check and store those of a kind, and read them."""

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias
from uuid import UUID

import structlog
from sqlalchemy import delete, literal_column, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from authsite.oauth.errors import InvalidValue
from authsite.oauth.models import MAX_URIS, ORIGIN, POST_LOGOUT, REDIRECT, Client, ClientUri
from authsite.platform.context import Services
from authsite.platform.db import PreparedQuery
from authsite.platform.i18n import _

from . import redirect_uris
from .redirect_uris import Allowed

KINDS = {"redirect_uris": REDIRECT, "post_logout_redirect_uris": POST_LOGOUT, "origins": ORIGIN}
"""The kinds by the names of RFC 7591 and of OpenID Connect RP-Initiated Logout."""
Uris: TypeAlias = Mapping[tuple[UUID, str], list[str]]
"""The URIs of clients by client and kind."""


def check(kind: str, uri: str, client_type: str, allowed: Allowed) -> None:
    """Raise ValueError unless a client of this type may have the URI."""
    if kind == ORIGIN:
        redirect_uris.check_origin(uri)
    else:
        redirect_uris.check(uri, client_type, allowed)


def wanted_of(kind: str, uris: Iterable[str], client_type: str, allowed: Allowed) -> list[str]:
    """The URIs of a kind as `replace` stores them. Raises ValueError as `replace`."""
    wanted = [uri for uri in dict.fromkeys(uris) if uri]
    if len(wanted) > MAX_URIS:
        raise InvalidValue(
            _("a client has at most ${number} URIs of a kind", mapping={"number": str(MAX_URIS)})
        )
    for uri in wanted:
        check(kind, uri, client_type, allowed)
    return wanted


def replace(db: Session, client: Client, kind: str, uris: Iterable[str], allowed: Allowed) -> None:
    """Let ``uris`` be those of this kind, in their order and each once; empty texts are left out.

    Raises ValueError for one that the client may not have, and for more than `MAX_URIS`.
    """
    wanted = wanted_of(kind, uris, client.type, allowed)
    db.execute(
        delete(ClientUri).where(ClientUri.client_id == client.id, ClientUri.kind == kind),
        execution_options={"synchronize_session": False},
    )
    db.flush()  # the row of a new client comes before those of its URIs
    db.add_all(
        ClientUri(id=uuid.uuid4(), client_id=client.id, kind=kind, uri=uri, position=position)
        for position, uri in enumerate(wanted)
    )


def of(db: Session, client_ids: Iterable[UUID]) -> Uris:
    """The URIs of clients, in their order."""
    rows = db.execute(
        select(ClientUri.client_id, ClientUri.kind, ClientUri.uri)
        .where(ClientUri.client_id.in_(list(client_ids)))
        .order_by(ClientUri.position)
    )
    found: dict[tuple[UUID, str], list[str]] = {}
    for row in rows:
        found.setdefault((row.client_id, row.kind), []).append(row.uri)
    return found


def unencrypted(uris: Uris, client_id: UUID) -> list[str]:
    """Those of a client by which people return without TLS (`http-redirect-hosts`), each once."""
    kinds = (REDIRECT, POST_LOGOUT)
    returning = [uri for kind in kinds for uri in uris.get((client_id, kind), ())]
    return [uri for uri in dict.fromkeys(returning) if redirect_uris.is_unencrypted(uri)]


# The origins of `browser` clients: their scripts may call the token endpoint and its neighbors.


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
