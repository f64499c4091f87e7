"""Create, list and revoke the personal access tokens of a user.

A token acts for its user, with its scopes, until it expires or is revoked, the user's epoch is
raised, or the client with which it was created is disabled. It knows its session: who ends that may
end the token with it. Where the session came from a provider with `session-expires-in`, the token
lasts no longer than that allows.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import bindparam, insert, null, select

from authsite.oauth import scopes
from authsite.oauth.models import Family, PersonalToken
from authsite.oauth.tokens import active_personal, format
from authsite.oauth.tokens.families import ListedToken, list_personal
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, record
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.http.bodies import errors_of
from authsite.platform.http.errors import ApiError, FieldError, NotFound, ValidationFailed
from authsite.platform.i18n import _
from authsite.platform.mail import outbox
from authsite.platform.mail.message import MailBuilder, MailContent, MailJob
from authsite.platform.mail.outbox import Recipient
from authsite.platform.rate_limit import limit_subject
from authsite.platform.runtime import clock
from authsite.platform.settings.values import duration
from authsite.sign_in.fields import read_line
from authsite.sign_in.notices import may_mail_own_address
from authsite.sign_in.reauthentication import ProofFields, missing_fields, require_proof
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users import service as users
from authsite.users.account import SignedInUser
from authsite.users.errors import SignInEnded
from authsite.users.groups import group_scopes
from authsite.users.mails import MAIL_USER, confirmed_at, content_for, forgot_page

# The notice to a user that a personal access token was created.


class TokenName(NamedTuple):
    """The name of a personal access token."""

    name: str


TOKEN_NAME = PreparedQuery(
    select(PersonalToken.name).where(PersonalToken.id == bindparam("token_id")), TokenName
)


def send_created(ctx: Context, recipient: Recipient, token_id: UUID) -> None:
    """Enqueue the notice that the token was created."""
    outbox.put(ctx, outbox.NewMail("token_created", recipient, about_id=token_id))


def build_created(job: MailJob) -> MailContent | None:
    """The notice; None if the user was deleted or disabled.

    It has the token's name only at an address that the user has confirmed, as with the name in a
    greeting. A token that was revoked since is still reported.
    """
    database, address = job.services.database, job.mail.address
    user = MAIL_USER.one(database, user_id=job.mail.user_id)
    if user is None:
        return None
    found = TOKEN_NAME.one(database, token_id=job.mail.about_id)
    return content_for(
        user,
        job,
        link=forgot_page(job),
        about=found.name if found and confirmed_at(user, address) else None,
    )


BUILDERS: dict[str, MailBuilder] = {"token_created": build_created}


# Errors of personal access tokens.


NAME_MISSING = _("Enter a name for the token.")


class TooManyTokens(ApiError):
    summary = "The user has as many active personal access tokens as a user may have."
    status = 409
    code = "too_many_tokens"
    message = _("You have reached the maximum number of personal access tokens. Revoke one first.")


class UnknownToken(NotFound):
    summary = "No active personal access token of the user has this id."
    message = _("There is no such token, or it has been revoked. Get the list again.")


class ScopeNotAllowed(ValidationFailed):
    """A scope that the new token may not have."""

    def __init__(self) -> None:
        message = _("Choose only scopes that you may pass on to a personal access token.")
        super().__init__(details=[FieldError("not_allowed", "scope", message)])


class InvalidLifetime(ValidationFailed):
    """The lifetime is not a duration, or longer than a year."""

    def __init__(self) -> None:
        message = _("Give a duration such as 12h, 30d or 365d: more than 0, at most a year.")
        super().__init__(details=[FieldError("invalid", "expires_in", message)])


MAX_ACTIVE = 50  # tokens of one user
DEFAULT_LIFETIME = timedelta(days=90)
_parse_lifetime = duration(timedelta(days=365))


@dataclass(frozen=True, slots=True)
class RequestedToken:
    """What a user asks for, as text; without a lifetime it is `DEFAULT_LIFETIME`."""

    name: str
    scope: str | None = None
    expires_in: str | None = None


class _Origin(NamedTuple):
    """What a token has of the session in which it is created."""

    session_id: UUID
    client_id: UUID | None
    client_epoch: int | None
    identity_id: UUID | None
    ends_at: datetime | None


def create(
    ctx: Context,
    user: SignedInUser,
    given: ProofFields,
    requested: RequestedToken,
    allowed: Collection[str],
) -> tuple[ListedToken, str]:
    """Create a token after a proof of who the user is; the owner is notified by mail.

    Returns it and its text, which is not stored: it is shown once.

    ``allowed``: the scopes that the token may have, except those for groups that the user is not
    in, and those of OpenID Connect; without a requested scope it has none. Raises
    `ValidationFailed` for a wrong name, scope or lifetime, what `require_proof` raises,
    `TooManyAttempts` over the limit ``personal-tokens`` of the user, `TooManyTokens`, and
    `SignInEnded` if the user's epoch was raised since the guard read it.
    """
    if _errors(requested, allowed):
        raise ValidationFailed(details=token_errors(ctx, user, given, requested, allowed))
    name, scope, lifetime = _read(requested, allowed)
    account = user.account

    def count() -> bool:
        # After the password: a person with only a token cannot use up the limit of the owner.
        ctx.limits.count("personal-tokens", limit_subject(account.id))
        return may_mail_own_address(ctx, account)

    notify = require_proof(ctx, user, given, before_writing=count)
    # Locked, so that the limit holds for concurrent requests.
    if users.lock_unchanged(ctx.db, account.id, account.epoch) is None:
        raise SignInEnded
    if group_scopes.held_in_transaction(ctx, account.id, scope) != scope:
        raise ScopeNotAllowed
    if len(list_personal(ctx, account.id)) >= MAX_ACTIVE:
        raise TooManyTokens
    now, origin = clock.now(), _origin_of(ctx, user)
    expires = format.expiry(now, lifetime)
    expires = min(expires, origin.ends_at or expires)
    made = ListedToken(uuid4(), name, scope, now, expires, origin.session_id)
    text = _insert(ctx, user, made, origin)
    details = {"token": str(made.id), "session": str(origin.session_id)}
    record(ctx, Event.TOKEN_CREATED, user_id=account.id, details=details)
    if notify:
        send_created(ctx, Recipient(account.id, account.email), made.id)
    return made, text


def token_errors(
    ctx: Context,
    user: SignedInUser,
    given: ProofFields,
    requested: RequestedToken,
    allowed: Collection[str],
) -> Sequence[FieldError]:
    """What `create` finds wrong with the fields that are there, for a refused request."""
    return [*_errors(requested, allowed), *missing_fields(ctx, user, given)]


def _errors(requested: RequestedToken, allowed: Collection[str]) -> Sequence[FieldError]:
    return errors_of(lambda: _read(requested, allowed))


def revoke(
    ctx: Context, user_id: UUID, token_id: UUID, cause: Cause | None = None
) -> ListedToken | None:
    """Revoke one token of this user, at once on every process; the token, if one was active."""
    found = next((item for item in list_personal(ctx, user_id) if item.id == token_id), None)
    if found is None:
        return None
    why = "revoked by an administrator" if cause else "revoked by its owner"
    active_personal.end(ctx, token_id, why, user_id=user_id, cause=cause)
    return found


def _read(requested: RequestedToken, allowed: Collection[str]) -> tuple[str, str, timedelta]:
    """Name, scope and lifetime. Raises `ValidationFailed` with all errors."""
    (name, errors), wanted = read_line("name", requested.name), scopes.parse(requested.scope or "")
    if not name and not errors:
        errors.append(FieldError("required", "name", NAME_MISSING))
    if not set(wanted) <= set(allowed).difference(scopes.OPENID_SCOPES):
        errors += ScopeNotAllowed().details
    lifetime = DEFAULT_LIFETIME
    try:
        if requested.expires_in is not None:
            lifetime = _parse_lifetime(requested.expires_in)
    except ValueError:
        errors += InvalidLifetime().details
    if errors or not name:
        raise ValidationFailed(details=errors)
    return name, " ".join(wanted), lifetime


def _insert(ctx: Context, user: SignedInUser, made: ListedToken, origin: _Origin) -> str:
    """Insert the token; its text."""
    info = ctx.request_info
    ctx.db.execute(
        insert(PersonalToken).values(
            id=made.id,
            user_id=user.account.id,
            user_epoch=user.account.epoch,
            client_id=origin.client_id,
            client_epoch=origin.client_epoch,
            session_id=origin.session_id,
            identity_id=origin.identity_id,
            name=made.name,
            scope=made.scope,
            created_at=made.created,
            expires_at=made.expires,
            address=info.address,
            agent=info.agent,
        )
    )
    sealed = format.PersonalTokenValues(made.id, int(made.expires.timestamp()))
    return format.encode_personal(ctx.services.keys, sealed)


def _origin_of(ctx: Context, user: SignedInUser) -> _Origin:
    """The session of the user: its client, with the epoch that it knows, and its provider.

    The user is locked, as by what ends a session with the tokens that were created in it. Raises
    `SignInEnded` if the session has ended.
    """
    if user.family_id:
        query = select(
            Family.id, Family.client_id, Family.client_epoch, Family.identity_id, Family.ends_at
        ).where(Family.id == user.family_id, Family.revoked_at.is_(None))
    else:
        query = select(
            BrowserSession.id, null(), null(), BrowserSession.identity_id, BrowserSession.ends_at
        ).where(BrowserSession.id == user.browser_session_id)
    found = ctx.db.execute(query).one_or_none()
    if found is None:
        raise SignInEnded
    return _Origin(*found)
