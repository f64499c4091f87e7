"""Create, list and revoke the personal access tokens of a user.

A personal access token is a token family of the kind `PERSONAL`. It acts for its user, with its
scopes, until it expires, is revoked or the user's epoch is raised.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from sqlalchemy import Select, insert, select

from authsite import clock
from authsite.audit.events import Event
from authsite.audit.service import record
from authsite.context import Context
from authsite.http.errors import FieldError, ValidationFailed
from authsite.login.fields import check_line
from authsite.login.reauthentication import reauthenticate
from authsite.mail.outbox import Recipient
from authsite.oauth import families, scopes, tokens
from authsite.oauth.active import ACTIVE_FAMILIES
from authsite.oauth.models import PERSONAL, Family
from authsite.rate_limit import limit_subject
from authsite.settings.durations import duration
from authsite.users.account import SignedInUser
from authsite.users.errors import SignInEnded
from authsite.users.groups import bound
from authsite.users.models import User, unchanged_since
from authsite.verification.service import may_mail_own_address

from . import mails
from .errors import NAME_MISSING, InvalidLifetime, ScopeNotAllowed, TooManyTokens

MAX_ACTIVE = 50  # tokens of one user
DEFAULT_LIFETIME = timedelta(days=90)
_parse_lifetime = duration(timedelta(days=365))


@dataclass(frozen=True, slots=True)
class RequestedToken:
    """What a user asks for, as text; without a lifetime it is `DEFAULT_LIFETIME`."""

    name: str
    scope: str | None = None
    expires_in: str | None = None


@dataclass(frozen=True, slots=True)
class PersonalToken:
    """An active personal access token; ``last_used`` is to the hour, None before the first use."""

    id: UUID
    name: str
    scope: str
    created: datetime
    expires: datetime
    last_used: datetime | None = None


def create(
    ctx: Context,
    user: SignedInUser,
    current_password: str,
    requested: RequestedToken,
    allowed: Collection[str],
) -> tuple[PersonalToken, str]:
    """Create a token after checking the current password; the owner is notified by mail.

    Returns it and its text, which is not stored: it is shown once.

    ``allowed``: the scopes that the token may have, except those for groups that the user is not
    in; without a requested scope it has none. Raises
    `ValidationFailed` for a wrong name, scope or lifetime, what `reauthenticate` raises,
    `TooManyAttempts` over the limit ``personal-tokens`` of the user, `TooManyTokens`, and
    `SignInEnded` if the user's epoch was raised meanwhile.
    """
    name, scope, lifetime = _read(requested, allowed)
    reauthenticate(ctx, user, current_password)
    account = user.account
    # After the password: who has only a token of the user cannot use up the owner's limit.
    ctx.limits.count("personal-tokens", limit_subject(account.id))
    notify = may_mail_own_address(ctx, account)
    _lock(ctx, account.id, account.epoch)
    if bound.held_in_transaction(ctx, account.id, scope) != scope:
        raise ScopeNotAllowed
    now = clock.now()
    if len(ctx.db.scalars(_active(account.id, now)).all()) >= MAX_ACTIVE:
        raise TooManyTokens
    id_ = uuid4()
    made = PersonalToken(id_, name, scope, now, tokens.expiry(now, lifetime))
    _insert(ctx, user, made)
    details = {"family": str(id_), "sign_in": str(user.sign_in)}
    record(ctx, Event.TOKEN_CREATED, user_id=account.id, details=details)
    if notify:
        mails.send_created(ctx, Recipient(account.id, account.email), id_)
    sealed = tokens.Token(id_, 0, int(made.expires.timestamp()))
    return made, tokens.encode(ctx.services.keys, tokens.PERSONAL, sealed)


def list_active(ctx: Context, user_id: UUID) -> list[PersonalToken]:
    """The active tokens of a user, the newest first."""
    rows = ctx.db.scalars(
        _active(user_id, clock.now())
        .with_only_columns(Family)
        .order_by(Family.created_at.desc(), Family.id)
        .limit(MAX_ACTIVE)
    )
    return [
        PersonalToken(
            id=row.id,
            name=row.name or "",
            scope=row.scope,
            created=row.created_at,
            expires=row.refresh_expires_at,
            # The hour of the first use may have begun before the token was created.
            last_used=row.used_at and max(row.used_at, row.created_at),
        )
        for row in rows
    ]


def revoke(ctx: Context, user_id: UUID, token_id: UUID) -> bool:
    """Revoke one token of this user, at once on every process; whether there was an active one."""
    found = ctx.db.scalar(
        _active(user_id, clock.now()).with_only_columns(Family.id).where(Family.id == token_id)
    )
    if found is None:
        return False
    families.end(ctx, token_id, "revoked by its owner", user_id=user_id, client_id=None)
    return True


def _read(requested: RequestedToken, allowed: Collection[str]) -> tuple[str, str, timedelta]:
    """Name, scope and lifetime. Raises `ValidationFailed` with all errors."""
    name, wanted = requested.name.strip(), scopes.parse(requested.scope or "")
    errors = check_line("name", name)
    if not name:
        errors.append(FieldError("required", "name", NAME_MISSING))
    if not set(wanted) <= set(allowed):
        errors += ScopeNotAllowed().details
    lifetime = DEFAULT_LIFETIME
    try:
        if requested.expires_in is not None:
            lifetime = _parse_lifetime(requested.expires_in)
    except ValueError:
        errors += InvalidLifetime().details
    if errors:
        raise ValidationFailed(details=errors)
    return name, " ".join(wanted), lifetime


def _lock(ctx: Context, user_id: UUID, epoch: int) -> None:
    """Lock the user's row, so that the limit holds for concurrent requests.

    Raises `SignInEnded` unless ``epoch``, with which the password was checked, is the user's.
    """
    row = select(User.id).where(User.id == user_id, *unchanged_since(epoch))
    # SQLite, where the transaction has the write lock of the database, ignores the clause.
    if ctx.db.scalar(row.with_for_update(key_share=True)) is None:
        raise SignInEnded


def _active(user_id: UUID, now: datetime) -> Select[UUID]:
    return ACTIVE_FAMILIES.where(
        Family.user_id == user_id, Family.kind == PERSONAL, Family.refresh_expires_at > now
    )


def _insert(ctx: Context, user: SignedInUser, made: PersonalToken) -> None:
    info = ctx.request_info
    ctx.db.execute(
        insert(Family).values(
            id=made.id,
            kind=PERSONAL,
            owner_kind="user",
            user_id=user.account.id,
            user_epoch=user.account.epoch,
            granted_scope=made.scope,
            scope=made.scope,
            rescoped=False,
            generation=0,
            created_at=made.created,
            rotated_at=made.created,
            refresh_expires_at=made.expires,
            address=info.address,
            agent=info.agent,
            name=made.name,
        )
    )
