"""Manage OAuth clients: create, change, rotate the secret, disable.

``cause``: who does it and why, for the event; None for what an installation does by itself.
"""

import secrets
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from sqlalchemy import ColumnElement, CursorResult, func, select, update
from sqlalchemy.orm import Session

from authsite.oauth.errors import InvalidValue, errors_of, require_valid
from authsite.oauth.models import (
    CODE_TYPES,
    DOCUMENT,
    DYNAMIC,
    PUBLIC_TYPES,
    REGISTRABLE_TYPES,
    Client,
)
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import Detail
from authsite.platform.audit.service import Cause, record
from authsite.platform.context import Context
from authsite.platform.db.folded import folded_name
from authsite.platform.i18n import _
from authsite.platform.runtime import clock
from authsite.platform.runtime.lines import NotOneLine, one_line
from authsite.platform.settings.values import OIDC_SCOPES, is_admin
from authsite.platform.settings.values import scope as scope_name
from authsite.sign_in.fields import not_one_line
from authsite.users.groups.labels import ADMIN_SCOPES

from .authentication import hash_secret

MAX_NAME, MAX_SCOPE = 100, 1024  # characters: the size of the columns

# The number of an advisory lock of PostgreSQL; `platform/tasks/background.py` lists the others.
_LOCK = 7165221


def new_secret() -> str:
    """256 random bits in base64url."""
    return secrets.token_urlsafe(32)


def create(
    ctx: Context,
    name: str,
    client_type: str,
    scope: str = "",
    default_scope: str = "",
    cause: Cause | None = None,
) -> tuple[Client, str | None]:
    """Create a client; returns it and its secret, of which only a hash is stored.

    A client of a type in `PUBLIC_TYPES` has no secret. Raises ValueError for a name that is empty,
    too long or not one line, an unknown type, a scope with a character that RFC 6749, section 3.3,
    excludes or that no client of this type has, and a default scope outside ``scope``.
    """
    require_valid(errors_of_new(name, client_type, scope, default_scope))
    name = name_of(name)
    client = Client(
        id=uuid.uuid4(),
        name=name,
        type=client_type,
        scope=" ".join(scope.split()),
        default_scope=" ".join(default_scope.split()),
    )
    secret = None if client_type in PUBLIC_TYPES else new_secret()
    _add(ctx, client, secret, cause)
    return client, secret


def create_again(ctx: Context, name: str, client_id: uuid.UUID, secret: str) -> None:
    """Create a client of type ``password`` with an id and a secret that others have already.

    For a database that was made again beside an environment file that has them.
    """
    client = Client(id=client_id, name=name, type="password", scope="", default_scope="")
    _add(ctx, client, secret)


def _add(ctx: Context, client: Client, secret: str | None, cause: Cause | None = None) -> None:
    client.secret_hash, client.epoch = hash_secret(secret) if secret else "", 0
    client.created_at = client.updated_at = clock.now()
    ctx.db.add(client)
    record(ctx, Event.CLIENT_CREATED, client_id=client.id, details=_details(cause))


def change(
    ctx: Context,
    client: Client,
    *,
    name: str | None = None,
    scope: str | None = None,
    default_scope: str | None = None,
    end_tokens: bool = False,
    cause: Cause | None = None,
) -> None:
    """Change the values that are not None. Narrowing the scope ends the tokens issued before.

    So does ``end_tokens``, for a change that the caller has made.
    Raises ValueError as `create` does, and for a client that no administrator has registered.
    """
    require_registered_here(client)
    now = clock.now()
    before = set(client.scope.split())
    scope = client.scope if scope is None else scope
    default_scope = client.default_scope if default_scope is None else default_scope
    require_valid(value_errors(client.type, name, scope, default_scope))
    if name is not None:
        client.name = name_of(name)
    client.scope, client.default_scope = " ".join(scope.split()), " ".join(default_scope.split())
    client.updated_at = now
    if end_tokens or not before <= set(scope.split()):
        client.epoch = Client.epoch + 1
    record(ctx, Event.CLIENT_CHANGED, client_id=client.id, details=_details(cause))


def wait_for_others(db: Session) -> None:
    """Until the end of this transaction no other one that calls this goes on.

    On SQLite the transaction itself holds the only write lock.
    """
    if db.get_bind().dialect.name == "postgresql":
        db.execute(select(func.pg_advisory_xact_lock(_LOCK)))


def rotate_secret(ctx: Context, client: Client, cause: Cause | None = None) -> str:
    """Give the client a new secret, which is returned.

    The previous one stays valid until the next rotation or `retire_secret`. Raises ValueError for a
    public client, which has none, and for one that an administrator has not registered.
    """
    require_registered_here(client)
    if client.type in PUBLIC_TYPES:
        raise InvalidValue(
            _(
                "a client of type ${type} has no secret, since everyone who has the program"
                " could read it. It sends its client_id alone",
                mapping={"type": client.type},
            )
        )
    now = clock.now()
    secret = new_secret()
    # The database copies the hash, so that concurrent rotations do not restore an older secret.
    ctx.db.execute(
        update(Client)
        .where(Client.id == client.id)
        .values(
            previous_secret_hash=Client.secret_hash,
            secret_hash=hash_secret(secret),
            updated_at=now,
        )
        .execution_options(synchronize_session="fetch")
    )
    record(ctx, Event.CLIENT_SECRET_ROTATED, client_id=client.id, details=_details(cause))
    return secret


def retire_secret(ctx: Context, client: Client, cause: Cause | None = None) -> None:
    """End the older of two valid secrets."""
    client.previous_secret_hash = None
    client.updated_at = clock.now()
    record(ctx, Event.CLIENT_SECRET_RETIRED, client_id=client.id, details=_details(cause))


def disable(ctx: Context, client_id: uuid.UUID, cause: Cause | None = None) -> None:
    """Reject the client from now on, and end everything that was issued to it."""
    now = clock.now()
    ctx.db.execute(
        update(Client)
        .where(Client.id == client_id)
        .values(disabled_at=now, updated_at=now, epoch=Client.epoch + 1)
    )
    record(ctx, Event.CLIENT_DISABLED, client_id=client_id, details=_details(cause))


def end_all_tokens(db: Session) -> int:
    """End everything that was issued to any client; returns the number of clients."""
    ended = db.execute(
        update(Client).values(epoch=Client.epoch + 1).execution_options(synchronize_session=False)
    )
    return cast(CursorResult[Any], ended).rowcount


def enable(ctx: Context, client: Client, cause: Cause | None = None) -> None:
    """Accept a disabled client again; what was issued before stays revoked."""
    client.disabled_at = None
    client.updated_at = clock.now()
    record(ctx, Event.CLIENT_ENABLED, client_id=client.id, details=_details(cause))


def called(text: str) -> ColumnElement[bool]:
    """The condition that the name of a client contains ``text``, whatever the case."""
    return Client.folded_name.contains(folded_name(text), autoescape=True)


def search(
    db: Session,
    limit: int,
    *,
    name: str = "",
    client_type: str | None = None,
    disabled: bool = False,
) -> tuple[Sequence[Client], int]:
    """Up to ``limit`` clients, oldest first, whose name contains ``name``; and how many there are.

    Only those of ``client_type``, unless it is None, and with ``disabled`` only disabled ones.
    """
    conditions = [called(name)]
    if client_type is not None:
        conditions.append(Client.type == client_type)
    if disabled:
        conditions.append(Client.disabled_at.is_not(None))
    query = select(Client).where(*conditions).order_by(Client.created_at, Client.id).limit(limit)
    total = db.scalar(select(func.count()).select_from(Client).where(*conditions)) or 0
    return db.scalars(query).all(), total


def require_registered_here(client: Client) -> None:
    """Raise ValueError for a client that says itself what it is."""
    if client.type == DOCUMENT:
        raise InvalidValue(
            _(
                "what this client is stands in its document, ${document_uri}: ask the people who"
                " run it, or disable the client and register one of your own",
                mapping={"document_uri": client.document_uri},
            )
        )
    if client.type == DYNAMIC:
        raise InvalidValue(
            _(
                "this client registered itself, and nothing of it can be changed here: disable"
                " it, and register one of your own"
            )
        )


def _details(cause: Cause | None) -> dict[str, Detail] | None:
    return cause.details() if cause else None


def name_of(text: str) -> str:
    """The name of a client as it is stored. Raises ValueError."""
    try:
        name = one_line(text)
    except NotOneLine as error:
        raise InvalidValue(not_one_line(error)) from None
    if not name or len(name) > MAX_NAME:
        raise InvalidValue(
            _(
                "the name must be one line of 1 to ${number} characters",
                mapping={"number": str(MAX_NAME)},
            )
        )
    return name


def errors_of_new(
    name: str | None, client_type: str | None, scope: str | None, default_scope: str | None
) -> list[InvalidValue]:
    """What `create` finds wrong with the values that are there, one error for each field."""
    of_type = errors_of({"type": lambda: _check_type(client_type)}) if client_type else []
    return [*of_type, *value_errors(client_type, name, scope, default_scope)]


def value_errors(
    client_type: str | None, name: str | None, scope: str | None, default_scope: str | None
) -> list[InvalidValue]:
    """What `change` finds wrong with the values that are there, one error for each field.

    ``default_scope`` is part of ``scope`` if both are there.
    """
    checks: dict[str, Callable[[], object]] = {}
    if name is not None:
        checks["name"] = lambda: name_of(name)
    if scope is not None:
        checks["scope"] = lambda: _check_scope(client_type, scope)
    if default_scope is not None:
        checks["default_scope"] = lambda: _check_default(scope, default_scope)
    return errors_of(checks)


def _check_type(client_type: str | None) -> None:
    if client_type not in REGISTRABLE_TYPES:
        raise InvalidValue(
            _("the type must be one of ${types}", mapping={"types": ", ".join(REGISTRABLE_TYPES)})
        )


def _check_scope(client_type: str | None, scope: str) -> None:
    """Raise ValueError for a scope that no client of this type has; None: of any type."""
    for name in scope.split():
        scope_name(name)
        if name in OIDC_SCOPES and client_type and client_type not in CODE_TYPES:
            raise InvalidValue(
                _(
                    "a client of type ${client_type} cannot have the scope ${name}: it is for"
                    " the types ${types}",
                    mapping={
                        "client_type": client_type,
                        "name": name,
                        "types": ", ".join(CODE_TYPES),
                    },
                )
            )
        if is_admin(name) and name not in ADMIN_SCOPES:
            raise InvalidValue(
                _(
                    "there is no scope ${name}; there are ${scopes}",
                    mapping={"name": name, "scopes": ", ".join(sorted(ADMIN_SCOPES))},
                )
            )
    if len(scope) > MAX_SCOPE:
        raise InvalidValue(
            _(
                "the scopes must have at most ${number} characters together",
                mapping={"number": str(MAX_SCOPE)},
            )
        )


def _check_default(scope: str | None, default_scope: str) -> None:
    if any(map(is_admin, default_scope.split())):
        raise InvalidValue(
            _("a scope of administrators must be asked for: leave it out of the default")
        )
    if scope is not None and not set(default_scope.split()) <= set(scope.split()):
        raise InvalidValue(_("the default scope must be part of the scope"))


def names(db: Session, ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The names of the clients with these ids, as far as they exist."""
    rows = db.execute(select(Client.id, Client.name).where(Client.id.in_(set(ids))))
    return {row.id: row.name for row in rows}
