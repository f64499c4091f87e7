"""The refresh token grant, with rotation and reuse detection.

RFC 6749, section 6; RFC 9700, section 4.14.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, func, update

from authsite.oauth import asked_scopes, resources, scopes
from authsite.oauth.clients import groups as client_groups
from authsite.oauth.clients import self_described
from authsite.oauth.codes import family as code_families
from authsite.oauth.codes.family import OTHER, Refreshing
from authsite.oauth.errors import InvalidGrant, TokenReused
from authsite.oauth.mfa.service import PolicyNotMet
from authsite.oauth.models import UNVERIFIED_TYPES, Client, Family
from authsite.oauth.oidc import access_tokens
from authsite.oauth.oidc.access_tokens import Form
from authsite.oauth.reasons import TokenReason
from authsite.oauth.resources import RegisteredResource
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, record, record_apart
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.runtime import clock
from authsite.sign_in import notices
from authsite.sign_in.credentials import unpack
from authsite.sign_in.factors import policy
from authsite.sign_in.gate import check_account
from authsite.users.account import ACCOUNT_COLUMNS, Account, acr_of
from authsite.users.groups.group_scopes import Holder

from . import families
from .active import ACTIVE_FAMILY, within_grace
from .format import (
    REFRESH,
    Generation,
    Token,
    TokenPair,
    decode,
    encode_pair,
    family_limit,
    kind_of,
    refresh_expiry,
)


class RefreshableFamily(NamedTuple):
    """An active family; ``account`` is None where it acts for no user."""

    id: UUID
    client_id: UUID
    generation: int
    rotated_at: datetime
    rescoped: bool
    scope: str
    granted_scope: str
    refresh_expires_at: datetime
    created_at: datetime
    facts: str | None
    auth_at: datetime
    session_id: UUID | None
    require_group: str | None
    client_type: str
    client_scope: str | None
    account: Account | None

    @property
    def acr(self) -> str:
        """The level of the sign-in that the tokens come from."""
        return acr_of(unpack(self.facts).amr)

    @property
    def holder(self) -> Holder | None:
        """For whom the scopes are; None where the family acts for no user."""
        return Holder(self.account.id, self.acr, self.client_id) if self.account else None


REFRESHABLE_FAMILY = PreparedQuery(
    ACTIVE_FAMILY.with_only_columns(
        Family.id,
        Family.client_id,
        Family.generation,
        Family.rotated_at,
        Family.rescoped,
        Family.scope,
        Family.granted_scope,
        Family.refresh_expires_at,
        Family.created_at,
        Family.facts,
        func.coalesce(Family.auth_at, Family.created_at).label("auth_at"),
        Family.session_id,
        Client.require_group,
        Client.type.label("client_type"),
        Client.scope.label("client_scope"),
        *ACCOUNT_COLUMNS,
    ),
    RefreshableFamily,
)


class RotatedFamily(NamedTuple):
    """A family that this request has rotated."""

    generation: int


def _rotate_query() -> PreparedQuery[RotatedFamily]:
    """UPDATE of the row at the generation that was read: of concurrent requests, one succeeds."""
    changing = ("generation", "rotated_at", "refresh_expires_at", "scope", "rescoped")
    columns = Family.__table__.c
    statement = (
        update(Family)
        .where(
            Family.id == bindparam("family_id", type_=columns.id.type),
            Family.generation == bindparam("generation", type_=columns.generation.type),
            Family.revoked_at.is_(None),
        )
        .values({name: bindparam(f"new_{name}", type_=columns[name].type) for name in changing})
        .returning(Family.generation)
    )
    return PreparedQuery(statement, RotatedFamily)


ROTATE = _rotate_query()


def refresh(
    ctx: Context,
    client_id: UUID,
    text: str,
    requested_scope: str | None,
    requested_resource: str | None = None,
) -> TokenPair:
    """The next pair of the family of the refresh token ``text``.

    The previous generation's token gets the present pair again within the grace. An older one
    revokes the family and raises `TokenReused`. Raises `InvalidGrant` for a family that is
    inactive, of another client, behind its token, older than `family-lifetime`, or for a resource
    that was removed; `InvalidTarget` for another resource than the family's; `SigningUnavailable`,
    `InvalidScope`, `GroupRequired`, `PolicyNotMet`, what an account condition raises, and what
    `codes.family.check` raises. These write nothing.
    """
    token = decode(ctx.services.keys, REFRESH, text, clock.now())
    if token is None:
        raise InvalidGrant().because(TokenReason.REFRESH_MALFORMED, sent=kind_of(text))
    family, resource, refreshing = _find_allowed(ctx, token, client_id)
    resources.check_same(requested_resource, resource.uri if resource else None)
    form = access_tokens.form_for(ctx, resource)
    if token.generation == family.generation:
        pair = _rotate(ctx, family, refreshing.bound, requested_scope, resource, form)
        if pair:
            return refreshing.with_id_token(pair)
        # A concurrent request has rotated or revoked the family: read it again.
        family, _resource, refreshing = _find_allowed(ctx, token, client_id)
    if token.generation > family.generation:
        raise InvalidGrant().because(TokenReason.REFRESH_AHEAD)
    now = clock.now()
    if is_accepted(ctx, token, family, now):
        _record_replay(ctx, family)
        present = Generation(
            family.id,
            family.generation,
            family.rotated_at,
            family.refresh_expires_at,
            family.scope,
            family.created_at,
            bounded=refreshing.bound is not None,
        )
        return refreshing.with_id_token(_pair(ctx, family, present, now, form))
    _revoke_reused(ctx, family)
    raise TokenReused


def is_accepted(ctx: Context, token: Token, family: RefreshableFamily, now: datetime) -> bool:
    """Whether the token is of the present generation, or of the previous one within the grace."""
    if token.generation == family.generation:
        return True
    previous = token.generation == family.generation - 1
    return previous and within_grace(now, family.rotated_at, ctx.settings.refresh_grace)


def find_refreshable(
    ctx: Context, token: Token, client_id: UUID
) -> tuple[RefreshableFamily, RegisteredResource | None]:
    """The family of the token, if it is active, of this client, and within `family-lifetime`.

    If it is for a resource, that is still registered, and its scopes limit the granted scope. So do
    those that clients may have now which no administrator has registered. Raises `InvalidGrant`.
    """
    family = REFRESHABLE_FAMILY.one(ctx.database, family_id=token.family_id)
    if family is None:
        raise InvalidGrant().because(TokenReason.REFRESH_ENDED)
    if family.client_id != client_id:  # a request of another client changes nothing
        other = str(family.client_id)
        raise InvalidGrant().because(TokenReason.REFRESH_OTHER_CLIENT, expected=other)
    limit = family_limit(family.created_at, ctx.settings)
    # The token may be from before the setting was changed.
    if limit and limit <= clock.now():
        raise InvalidGrant().because(TokenReason.REFRESH_TOO_OLD)
    granted, audience = family.granted_scope, unpack(family.facts).audience
    if family.client_type in UNVERIFIED_TYPES:
        granted = self_described.limited(ctx.settings, granted)
    resource = resources.find(ctx, audience) if audience is not None else None
    if audience is not None and resource is None:
        raise InvalidGrant().because(TokenReason.REFRESH_RESOURCE, sent=audience)
    # Its scopes may have become fewer, and are never more than what was granted.
    return family._replace(granted_scope=resources.scope_for(resource, granted)), resource


def _find_allowed(
    ctx: Context, token: Token, client_id: UUID
) -> tuple[RefreshableFamily, RegisteredResource | None, Refreshing]:
    family, resource = find_refreshable(ctx, token, client_id)
    if family.account:
        check_account(ctx, family.account)
        if not policy.is_met(ctx.settings, unpack(family.facts).amr, clock.now()):
            raise PolicyNotMet
    if family.session_id is not None:  # what its client requires is checked there
        return family, resource, code_families.check(ctx, family.id)
    if family.account:
        client_groups.check(ctx.settings, family.account, family.require_group, family.acr)
    return family, resource, OTHER


def _rotate(
    ctx: Context,
    family: RefreshableFamily,
    bound: datetime | None,
    requested_scope: str | None,
    resource: RegisteredResource | None,
    form: Form,
) -> TokenPair | None:
    """The next pair; None if a concurrent request was faster."""
    now, holder = clock.now(), family.holder
    scope = asked_scopes.of_refresh(
        ctx, requested_scope, family.granted_scope, family.client_scope or "", resource, holder
    )
    if holder:
        scope = scopes.hold(ctx, holder, scope)
    refresh_expires_at = refresh_expiry(now, family.created_at, ctx.settings, bound)
    rotated = ROTATE.one(
        ctx.database,
        family_id=family.id,
        generation=family.generation,
        new_generation=family.generation + 1,
        new_rotated_at=now,
        new_refresh_expires_at=refresh_expires_at,
        new_scope=scope,
        new_rescoped=set(scope.split()) != set(family.scope.split()),
    )
    if rotated is None:
        return None
    if holder:
        scopes.confirm(ctx, holder, family.id, scope)
    successor = Generation(
        family.id,
        rotated.generation,
        now,
        refresh_expires_at,
        scope,
        family.created_at,
        bounded=bound is not None,
    )
    return _pair(ctx, family, successor, now, form)


def _pair(
    ctx: Context, family: RefreshableFamily, generation: Generation, now: datetime, form: Form
) -> TokenPair:
    known = unpack(family.facts)
    about = access_tokens.Holder(
        family.client_id, family.account, known.amr, family.auth_at, known.client
    )
    return form.of(encode_pair(ctx, generation, now), generation, about)


def _record_replay(ctx: Context, family: RefreshableFamily) -> None:
    """Record, once an hour, that the previous generation's token came again within the grace.

    Usually an application has sent its request twice, but a thief's first use looks the same.
    """
    if ctx.limits.first("token.replayed", str(family.id)):
        record_apart(ctx, Event.TOKEN_REPLAYED, **_about(family))


def _revoke_reused(ctx: Context, family: RefreshableFamily) -> None:
    """Revoke a family whose used refresh token came again; of concurrent calls one is recorded."""
    account = family.account
    # Counted before the transaction writes; of a family that is revoked, too, since that is rare.
    notify = account is not None and notices.may_notify(ctx, account, "reuse")
    if families.revoke(ctx, family.id, "reuse"):
        record(ctx, Event.TOKEN_REUSED, **_about(family))
        if account and notify:
            notices.send_reuse(ctx, account, family.id)


def _about(family: RefreshableFamily) -> About:
    return {
        "user_id": family.account.id if family.account else None,
        "client_id": family.client_id,
        "details": {"family": str(family.id)},
    }
