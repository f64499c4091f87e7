"""Issue the first token pair of a new family, for the grants that check a credential."""

from typing import Any, NamedTuple, Protocol
from uuid import UUID, uuid4

from sqlalchemy import FromClause, bindparam, exists, insert, select
from sqlalchemy.exc import IntegrityError

from authsite.context import Context
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import event_values, recording_if
from authsite.platform.db import PreparedQuery, run_together
from authsite.platform.installation import features
from authsite.platform.runtime import clock
from authsite.sign_in import facts
from authsite.sign_in.gate import Complete
from authsite.users.models import User, unchanged_since

from . import scopes
from .active import FAMILIES
from .errors import InvalidGrant
from .models import OAUTH, Client, Family
from .tokens import Generation, TokenPair, encode_pair, refresh_expiry


class CheckedClient(Protocol):
    """A client, with the epoch that was read when its credentials were checked."""

    @property
    def id(self) -> UUID: ...
    @property
    def epoch(self) -> int: ...


class ClientRef(NamedTuple):
    """A `CheckedClient` of nothing but id and epoch."""

    id: UUID
    epoch: int


class IssuedFamily(NamedTuple):
    """A family that was inserted."""

    id: UUID


_NULL_AT_FIRST = {"used_at", "revoked_at", "revoked_why", "name", "session_id"}
_OF_USER = {"auth_at", "recognized"}


def _issue_query(*, for_user: bool) -> PreparedQuery[IssuedFamily]:
    """INSERT … SELECT from the owner's rows, where these still are what was checked."""
    null = _NULL_AT_FIRST if for_user else _NULL_AT_FIRST | _OF_USER
    columns = [c for c in FAMILIES.columns if c.name not in null]
    new = {c.name: bindparam(f"new_{c.name}", type_=c.type) for c in columns}
    owners: FromClause = Client.__table__
    unchanged = [Client.epoch == new["client_epoch"], Client.disabled_at.is_(None)]
    if for_user:
        owners = owners.join(User.__table__, User.id == new["user_id"])
        unchanged += unchanged_since(new["user_epoch"])
    values = (
        select(*new.values()).select_from(owners).where(Client.id == new["client_id"], *unchanged)
    )
    # Into the table, not the class: the ORM would take the parameters for rows of a bulk insert.
    insertion = insert(FAMILIES).from_select(columns, values).returning(FAMILIES.c.id)
    return PreparedQuery(insertion, IssuedFamily)


ISSUE_FOR_USER = _issue_query(for_user=True)
ISSUE_FOR_CLIENT = _issue_query(for_user=False)
RECORD_IF_ISSUED = recording_if(exists().where(Family.id == bindparam("family_id")))


def issue(
    ctx: Context,
    client: CheckedClient,
    done: Complete,
    scope: str,
    family_id: UUID | None = None,
    *,
    audience: str | None = None,
    third_party: bool | None = None,
) -> TokenPair:
    """Insert a new family for the user who has signed in, with this id if it is given.

    Returns its first pair. One INSERT selects from the rows of user and client. If one of them was
    disabled or erased, or its epoch was raised, since the credentials were checked, it inserts
    nothing and `InvalidGrant` is raised. The INSERT and the audit event ``token.issued`` are one
    transaction, which is committed on return.

    ``audience``: the URI of the resource that the tokens are for. ``third_party``: as in
    `sign_in.facts`. The family is granted ``scope``, and the pair has what `scopes.hold` leaves of
    it. Raises `InvalidScope` if that is nothing, and for an audience `FeatureNotOpen`.
    """
    account, family_id = done.account, family_id or uuid4()
    held = scopes.hold(ctx, account.id, scope)
    values = {
        "new_owner_kind": "user",
        "new_user_id": account.id,
        "new_user_epoch": account.epoch,
        "new_facts": facts.pack(done.amr, audience=audience, third_party=third_party),
        "new_auth_at": done.auth_at,
        "new_recognized": done.recognized,
    }
    values["new_granted_scope"] = scope
    pair = _insert(ctx, client, held, family_id, values, bound=audience is not None)
    scopes.confirm(ctx, account.id, family_id, held)
    return pair


def issue_for_client(
    ctx: Context, client: CheckedClient, scope: str, *, audience: str | None = None
) -> TokenPair:
    """`issue` for a client that acts for itself and for no user."""
    values = {
        "new_owner_kind": "client",
        "new_user_id": None,
        "new_user_epoch": None,
        "new_facts": facts.pack(facts.PASSWORD, audience=audience),
    }
    return _insert(ctx, client, scope, uuid4(), values, bound=audience is not None)


def _insert(
    ctx: Context,
    client: CheckedClient,
    scope: str,
    family_id: UUID,
    owner: dict[str, Any],
    *,
    bound: bool,
) -> TokenPair:
    """``bound``: the tokens are for a resource, which an older version would overlook."""
    now, info = clock.now(), ctx.request_info
    user_id = owner["new_user_id"]
    expires_at = refresh_expiry(now, now, ctx.settings)
    first = Generation(family_id, 0, now, expires_at, scope, now)
    values = {
        "new_id": family_id,
        "new_kind": OAUTH,
        "new_client_id": client.id,
        "new_client_epoch": client.epoch,
        "new_granted_scope": scope,
        "new_scope": scope,
        "new_rescoped": False,
        "new_generation": first.number,
        "new_created_at": now,
        "new_rotated_at": now,
        "new_refresh_expires_at": first.refresh_expires_at,
        "new_address": info.address,
        "new_agent": info.agent,
        **owner,
    }
    event = event_values(
        ctx,
        Event.TOKEN_ISSUED,
        user_id=user_id,
        client_id=client.id,
        details={"family": str(family_id)},
    )
    more = [features.used(ctx.services, features.AUDIENCE)] if bound else []
    try:
        issued, *_rest = run_together(
            ctx.database,
            (ISSUE_FOR_USER if user_id else ISSUE_FOR_CLIENT, values),
            (RECORD_IF_ISSUED, {**event, "family_id": family_id}),
            *more,
        )
    except IntegrityError:
        issued = None  # PostgreSQL: the user's row was selected while a transaction deleted it
    if issued is None:
        raise InvalidGrant
    return encode_pair(ctx, first, now)
