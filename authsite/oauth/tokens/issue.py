"""Issue the first token pair of a new family, for the grants that check a credential."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, FromClause, bindparam, exists, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from authsite.oauth import resources, scopes
from authsite.oauth.clients.unused import noting_first_tokens
from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.codes.spend import SPEND_CODE
from authsite.oauth.errors import NotIssued
from authsite.oauth.models import Client, Family
from authsite.oauth.oidc import access_tokens
from authsite.oauth.oidc.access_tokens import Form
from authsite.oauth.resources import RegisteredResource
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import event_values, recording_if
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery, run_together
from authsite.platform.runtime import clock
from authsite.sign_in import credentials
from authsite.sign_in.gate import Complete
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users import account as levels
from authsite.users.groups.group_scopes import Holder
from authsite.users.models import User, unchanged_since
from authsite.users.service import NOTED_AGAIN

from .active import FAMILIES
from .format import Generation, TokenPair, encode_pair, refresh_expiry


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


class NotedUser(NamedTuple):
    """A user whose sign-in was noted."""

    id: UUID


_NULL_AT_FIRST = {"used_at", "revoked_at", "revoked_why"}
_OF_USER = {"auth_at", "recognized"}
_OF_SESSION = {"session_id", "identity_id", "ends_at"}


def _issue_query(
    *, for_user: bool, by_code: bool = False, to_device: bool = False
) -> PreparedQuery[IssuedFamily]:
    """INSERT … SELECT from the owner's rows, where these still are what was checked.

    ``by_code``: also from the code, which the same transaction has spent, and from its browser
    session. What ends a session deletes its row, which this one keeps until the family can be seen,
    and then ends the families of the session. ``to_device``: the code was approved for a device,
    which asks for the tokens itself.
    """
    null = _NULL_AT_FIRST
    null = null if for_user else null | _OF_USER
    null = null if by_code else null | _OF_SESSION
    columns = [c for c in FAMILIES.columns if c.name not in null]
    new = {c.name: bindparam(f"new_{c.name}", type_=c.type) for c in columns}
    selected: dict[str, ColumnElement[Any]] = {**new}
    owners: FromClause = Client.__table__
    unchanged = [Client.epoch == new["client_epoch"], Client.disabled_at.is_(None)]
    if for_user:
        owners = owners.join(User.__table__, User.id == new["user_id"])
        unchanged += unchanged_since(new["user_epoch"])
    if by_code:
        owners = owners.join(AuthorizationCode.__table__, AuthorizationCode.id == new["id"])
        owners = owners.join(BrowserSession.__table__, BrowserSession.id == new["session_id"])
        unchanged.append(AuthorizationCode.used_at == new["created_at"])
    if by_code and not to_device:
        # Of the person's browser; the request for the tokens comes from the application's server.
        device = BrowserSession.__table__.c
        selected |= {"address": device.address, "agent": device.agent}
    unchanged.append(Client.id == new["client_id"])
    values = select(*selected.values()).select_from(owners).where(*unchanged)
    if by_code:
        # FOR KEY SHARE: a use of the session, which writes its row, does not wait.
        values = values.with_for_update(read=True, key_share=True, of=BrowserSession)
    # Into the table, not the class: the ORM would take the parameters for rows of a bulk insert.
    insertion = insert(FAMILIES).from_select(columns, values).returning(FAMILIES.c.id)
    return PreparedQuery(insertion, IssuedFamily)


ISSUE_FOR_USER = _issue_query(for_user=True)
ISSUE_FOR_CODE = _issue_query(for_user=True, by_code=True)
ISSUE_TO_DEVICE = _issue_query(for_user=True, by_code=True, to_device=True)
ISSUE_FOR_CLIENT = _issue_query(for_user=False)
# The sign-in of a code was that of its browser session, which has noted it.
NOTE_SIGN_IN = PreparedQuery(
    update(User)
    .where(
        User.id == bindparam("user_id"),
        or_(User.last_sign_in_at.is_(None), User.last_sign_in_at <= bindparam("noted_before")),
        exists().where(Family.id == bindparam("family_id"), Family.user_id == User.id),
    )
    .values(last_sign_in_at=bindparam("now"))
    .returning(User.id),
    NotedUser,
)
RECORD_IF_ISSUED = recording_if(
    exists().where(
        Family.id == bindparam("family_id"),
        Family.created_at == bindparam("issued_at", type_=Family.created_at.type),
    )
)


class CodeGrant(NamedTuple):
    """What a code adds to the family that comes from it; the family has the ``id`` of the code.

    ``facts``: those of the family, which have the ``audience`` and ``client_url``, too. ``bound``:
    when its tokens end at the latest, None for never. ``identity_id`` and ``ends_at``: those of the
    browser session.
    ``to_device``: a device asks for the tokens itself, with its own address. ``notes_use``: whether
    the client may not have been used before (`unused_clients`).
    """

    id: UUID
    scope: str
    session_id: UUID
    audience: str | None
    facts: str | None
    bound: datetime | None
    identity_id: UUID | None
    ends_at: datetime | None
    to_device: bool = False
    client_url: str | None = None
    notes_use: bool = False


def issue(
    ctx: Context,
    client: CheckedClient,
    done: Complete,
    scope: str,
    family_id: UUID | None = None,
    *,
    resource: RegisteredResource | None = None,
) -> TokenPair:
    """Insert a new family for the user who has signed in, with this id if it is given.

    Returns its first pair. One INSERT selects from the rows of user and client. If one of them was
    disabled or erased, or its epoch was raised, since the credentials were checked, it inserts
    nothing and `InvalidGrant` is raised. The INSERT and the audit event ``token.issued`` are one
    transaction, which is committed on return.

    The family is granted ``scope``, and the pair has what `scopes.hold` leaves of it. Raises
    `InvalidScope` if that is nothing, and for a resource `SigningUnavailable`.
    """
    audience = resource.uri if resource else None
    account, family_id = done.account, family_id or uuid4()
    holder = Holder(account.id, levels.acr_of(done.amr), client.id)
    held = scopes.hold(ctx, holder, scope)
    form = access_tokens.form_for(ctx, resource)
    owner = _of_user(done, scope, credentials.pack(done.amr, audience=audience))
    about = access_tokens.Holder(client.id, account, done.amr, done.auth_at)
    pair = _insert(ctx, client, held, family_id, owner, form, about)
    scopes.confirm(ctx, holder, family_id, held)
    return pair


def issue_for_code(
    ctx: Context, client: CheckedClient, done: Complete, code: CodeGrant
) -> TokenPair:
    """`issue` for an authorization code, which is used up in the same transaction.

    Raises `InvalidGrant`, too, if another request has used it up, or its browser session has ended.
    """
    owner = {
        **_of_user(done, code.scope, code.facts),
        "new_session_id": code.session_id,
        "new_identity_id": code.identity_id,
        "new_ends_at": code.ends_at,
    }
    holder = Holder(done.account.id, levels.acr_of(done.amr), client.id)
    held = scopes.hold(ctx, holder, code.scope)
    resource = resources.find(ctx, code.audience) if code.audience else None
    form = access_tokens.form_for(ctx, resource)
    about = access_tokens.Holder(client.id, done.account, done.amr, done.auth_at, code.client_url)
    pair = _insert(ctx, client, held, code.id, owner, form, about, code)
    scopes.confirm(ctx, holder, code.id, held)
    return pair


def issue_for_client(
    ctx: Context, client: CheckedClient, scope: str, *, resource: RegisteredResource | None = None
) -> TokenPair:
    """`issue` for a client that acts for itself and for no user."""
    audience = resource.uri if resource else None
    values = {
        "new_owner_kind": "client",
        "new_user_id": None,
        "new_user_epoch": None,
        "new_facts": credentials.pack(levels.PASSWORD, audience=audience),
    }
    form, about = access_tokens.form_for(ctx, resource), access_tokens.Holder(client.id)
    return _insert(ctx, client, scope, uuid4(), values, form, about)


def _of_user(done: Complete, scope: str, packed: str | None) -> dict[str, Any]:
    return {
        "new_owner_kind": "user",
        "new_user_id": done.account.id,
        "new_user_epoch": done.account.epoch,
        "new_facts": packed,
        "new_auth_at": done.auth_at,
        "new_recognized": done.recognized,
        "new_granted_scope": scope,
    }


def _insert(
    ctx: Context,
    client: CheckedClient,
    scope: str,
    family_id: UUID,
    owner: dict[str, Any],
    form: Form,
    about: access_tokens.Holder,
    code: CodeGrant | None = None,
) -> TokenPair:
    """Insert the family. ``form`` and ``about``: of its access tokens."""
    now, info = clock.now(), ctx.request_info
    user_id = owner["new_user_id"]
    bound = code.bound if code else None
    expires_at = refresh_expiry(now, now, ctx.settings, bound)
    first = Generation(family_id, 0, now, expires_at, scope, now, bounded=bound is not None)
    values = {
        "new_id": family_id,
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
        details={"family": str(family_id)} | ({"amr": " ".join(about.amr)} if user_id else {}),
    )
    queries: list[tuple[PreparedQuery[Any], Mapping[str, object]]] = [
        (ISSUE_FOR_USER if user_id else ISSUE_FOR_CLIENT, values),
        (RECORD_IF_ISSUED, {**event, "family_id": family_id, "issued_at": now}),
    ]
    if user_id and not code:
        before = now - NOTED_AGAIN
        about_user = {"user_id": user_id, "family_id": family_id, "now": now}
        queries.append((NOTE_SIGN_IN, {**about_user, "noted_before": before}))
    if code:
        queries[0] = (ISSUE_TO_DEVICE if code.to_device else ISSUE_FOR_CODE, values)
        queries.insert(0, (SPEND_CODE, {"code_id": family_id, "now": now}))
    if code and code.notes_use:
        queries.append(noting_first_tokens(client.id, family_id, now))
    try:
        issued = run_together(ctx.database, *queries)[1 if code else 0]
    except IntegrityError:
        issued = None  # PostgreSQL: the user's row was selected while a transaction deleted it
    if issued is None:
        raise NotIssued
    return form.of(encode_pair(ctx, first, now), first, about)
