"""Change the account of the signed-in user, end its sign-ins, delete it."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete as delete_rows
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from authsite.oauth.tokens import families
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import Detail
from authsite.platform.audit.service import Cause, details_of, record
from authsite.platform.context import Context
from authsite.platform.db.base import Base
from authsite.platform.http.bodies import errors_of
from authsite.platform.http.errors import FieldError, NotFound, ValidationFailed
from authsite.platform.i18n import _
from authsite.platform.passwords import policy
from authsite.platform.rate_limit import limit_subject, running_counters
from authsite.platform.rate_limit.limiter import counted_by
from authsite.platform.runtime import clock
from authsite.platform.runtime.lines import one_line
from authsite.platform.user_data import USER_DATA, UserData
from authsite.sign_in.factors import remembered
from authsite.sign_in.fields import read_identifiers, read_line
from authsite.sign_in.identifiers import Identifier
from authsite.sign_in.notices import may_mail_own_address
from authsite.sign_in.reauthentication import ProofFields, missing_fields, require_proof
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.service import RenewedSession
from authsite.users import former
from authsite.users import service as users
from authsite.users.account import Account, SignedInUser
from authsite.users.errors import IdentifierTaken, SignInEnded
from authsite.users.models import LoginName, User, unchanged_since
from authsite.users.service import erase

# Everything that is stored about a user, as plain values (GDPR, articles 15 and 20).
#
# Packages register their tables and columns (`authsite.platform.user_data`).


BY_USER = "user"
"""In the event, who asked for the export; anything else is an administrator."""


def export_own(ctx: Context, user: SignedInUser, given: ProofFields) -> dict[str, Any]:
    """Everything that is stored about the signed-in user, ready for JSON.

    Raises what `require_proof` raises, `TooManyAttempts` over the limit ``export`` of the user,
    and `SignInEnded` if the user's epoch was raised since the request was accepted.
    """
    account = user.account
    # After the password: a thief of a token cannot use up the owner's limit.
    require_proof(
        ctx,
        user,
        given,
        before_writing=lambda: ctx.limits.count("export", limit_subject(account.id)),
    )
    unchanged = unchanged_since(account.epoch)
    found = ctx.db.scalar(select(User).where(User.id == account.id, *unchanged))
    if found is None:
        raise SignInEnded
    return _export(ctx, found, {"by": BY_USER, "session": str(user.session_id)})


def export_as_administrator(ctx: Context, user: User, cause: Cause | None = None) -> dict[str, Any]:
    """`export_own` for an administrator: without password and limit, also for a disabled user."""
    return _export(ctx, user, details_of(cause, by="administrator"))


def _export(ctx: Context, user: User, details: Mapping[str, Detail] | None) -> dict[str, Any]:
    """The parts; the export itself is recorded, with who asked for it."""
    found: dict[str, Any] = {"exported_at": clock.rfc3339(clock.now())}
    for part in USER_DATA.of(ctx.services).values():
        if part.rows is not None:
            found[part.name] = part.rows(ctx, user.id)
        elif part.columns:
            found[part.name] = _rows(ctx, user.id, part)
    record(ctx, Event.USER_EXPORTED, user_id=user.id, details=details)
    return found


def _rows(ctx: Context, user_id: uuid.UUID, part: UserData) -> Any:
    """The user's rows of a part; one object if there can be only one."""
    model: Any = part.model
    query = select(model).where(getattr(model, part.user) == user_id)
    if part.where is not None:
        query = query.where(part.where)
    columns, keys = part.columns.split(), [each.key for each in model.__mapper__.primary_key]
    order = "created_at" if "created_at" in columns else keys[0]
    rows = [_values(row, columns) for row in ctx.db.scalars(query.order_by(getattr(model, order)))]
    return rows[0] if keys == [part.user] else rows


def list_counters(ctx: Context, user_id: uuid.UUID) -> list[dict[str, Any]]:
    """The counters of the user alone. Their keys are hashes of the user's id and login names.

    Counters that combine these with an address are found only by someone who has that address.
    """
    return [
        {"limit": counted_by(key), "count": count, "expires_at": clock.rfc3339(expires_at)}
        for key, count, expires_at in stored_counters(ctx, user_id)
    ]


def stored_counters(ctx: Context, user_id: uuid.UUID) -> Sequence[running_counters.Running]:
    """`list_counters` as they are stored."""
    return running_counters.find(ctx, _subjects(ctx, user_id))


def end_counters(ctx: Context, user_id: uuid.UUID) -> int:
    """End the counters of `list_counters`; how many there were."""
    return running_counters.end(ctx, _subjects(ctx, user_id))


def _subjects(ctx: Context, user_id: uuid.UUID) -> tuple[str, ...]:
    """What the limits count of the user alone."""
    names = ctx.db.scalars(select(LoginName.key).where(LoginName.user_id == user_id))
    return (limit_subject(user_id), *names)


def _values(row: Base, columns: Sequence[str]) -> dict[str, Any]:
    return {name: _plain(getattr(row, name)) for name in columns}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return clock.rfc3339(value)
    return str(value) if isinstance(value, uuid.UUID) else value


# Errors of the account: no such session, no pending change of address.


class UnknownSession(NotFound):
    summary = "No session of the user has this id: it has ended, or belongs to another user."
    message = _("There is no such session, or it has ended. Get the list again.")


class NoPendingChange(NotFound):
    summary = "No change of address is pending: it was completed, has ended or was never requested."
    message = "No change of address is pending. Ask for one with PUT /v1/user/email."


def change_profile(
    ctx: Context, account: Account, name: str | None, identifiers: Mapping[str, str | None]
) -> User:
    """Change name, username and phone number; None leaves a value, an empty text removes it.

    Raises `ValidationFailed` with one entry for each error, `IdentifierTaken`, `SignInEnded`, and
    `TooManyAttempts`: `IdentifierTaken` reveals that another user has the login name, and each
    change is a row of the audit trail.
    """
    names = _read_profile(ctx, name, _enabled(ctx, identifiers))
    ctx.limits.count("profile", limit_subject(account.id))
    if any(new and new.display != getattr(account, kind) for kind, new in names.items()):
        ctx.limits.count("login-names", limit_subject(account.id))
    return _change(ctx, account.id, account.epoch, name, names)


def change_as_administrator(
    ctx: Context,
    user: User,
    name: str | None,
    identifiers: Mapping[str, str],
    cause: Cause | None = None,
) -> User:
    """`change_profile` without limits, also for a disabled user; ``identifiers`` are enabled.

    With a ``cause`` nothing is recorded where nothing changes. Raises `ValidationFailed` and
    `IdentifierTaken`.
    """
    return _change(ctx, user.id, None, name, _read_profile(ctx, name, identifiers), cause)


def change_password(
    ctx: Context, user: SignedInUser, given: ProofFields, password: str
) -> RenewedSession | None:
    """Change the password; everything that was issued ends, except the present sign-in.

    Returns the new key of a browser session. The user is notified by mail, if
    `may_mail_own_address` allows it. Raises what `require_proof` raises, also for a new password
    that breaks the policy, and `SignInEnded`.
    """
    hashed, notify = require_proof(
        ctx,
        user,
        given,
        lambda: _weaknesses(ctx, password, user.account, given),
        before_writing=lambda: (
            ctx.passwords.hash(password),
            may_mail_own_address(ctx, user.account),
        ),
    )
    unchanged = unchanged_since(user.account.epoch)
    changed = users.replace_password(ctx, user.account.id, hashed, *unchanged, notify=notify)
    if changed:
        record(ctx, Event.USER_PASSWORD_CHANGED, user_id=user.account.id)
    return _exempt_present(ctx, user, changed)


def password_errors(
    ctx: Context, user: SignedInUser, given: ProofFields, password: str | None
) -> Sequence[FieldError]:
    """What `change_password` finds wrong with the fields that are there, for a refused request."""
    weak = _weaknesses(ctx, password, user.account, given) if password else []
    return [*missing_fields(ctx, user, given), *weak]


def profile_errors(
    ctx: Context, name: str | None, identifiers: Mapping[str, str | None]
) -> Sequence[FieldError]:
    """What `change_profile` finds wrong with the fields that are there, for a refused request."""
    return errors_of(lambda: _read_profile(ctx, name, _enabled(ctx, identifiers)))


def administered_profile_errors(
    ctx: Context, user: User, name: str | None, identifiers: Mapping[str, str | None]
) -> Sequence[FieldError]:
    """What `change_as_administrator` finds wrong: `profile_errors`, and names that are taken.

    Only for an administrator, who can look for login names: no limit counts this.
    """
    enabled = _enabled(ctx, identifiers)
    valid, _errors = read_identifiers(ctx.settings, enabled)
    taken = users.find_taken(ctx.settings, ctx.db, valid, user.id) if valid else []
    of_taken = IdentifierTaken(taken).details
    return [*profile_errors(ctx, name, enabled), *of_taken]


def language_of(ctx: Context, user_id: UUID) -> str | None:
    """The stored language of the mails to the user; None if they follow the request."""
    return ctx.db.scalar(select(User.language).where(User.id == user_id))


def choose_language(ctx: Context, account: Account, language: str) -> None:
    """Store the language of the mails to the user. Raises `ValidationFailed` for another one."""
    if language not in ctx.settings.languages:
        message = _("Choose one of the languages in the list.")
        raise ValidationFailed(details=[FieldError("invalid", "language", message)])
    users.set_language(ctx, account.id, language, only_first=False)


def _weaknesses(
    ctx: Context, password: str, account: Account, given: ProofFields
) -> list[FieldError]:
    """The error of a new password that is easy to guess.

    Without the current one no limit has counted yet, and to rate a password takes processor time:
    then it counts as one that is rated while it is typed. Raises `TooManyAttempts`.
    """
    if given.current_password is None:
        ctx.limits.count("password-check", ctx.limits.address)
    weak = policy.weakness(ctx.settings, ctx.passwords, password, account)
    return [weak] if weak else []


def session_id(text: str) -> UUID:
    """The id of a session. Raises `UnknownSession` for a text that is not an id."""
    try:
        return UUID(text)
    except ValueError:
        raise UnknownSession from None


def end_others(ctx: Context, user: SignedInUser) -> RenewedSession | None:
    """End all sign-ins of the user, except the present one; every remembered browser is forgotten.

    Returns the new key of a browser session. Raises `SignInEnded`.
    """
    unchanged = unchanged_since(user.account.epoch)
    changed = users.end_sign_ins(ctx, user.account.id, *unchanged)
    if changed:
        record(ctx, Event.USER_OTHERS_SIGNED_OUT, user_id=user.account.id)
        remembered.forget_all(ctx, user.account.id)
    return _exempt_present(ctx, user, changed)


def delete(ctx: Context, user: SignedInUser, given: ProofFields) -> None:
    """Erase the account after a proof of who the user is.

    Raises what `require_proof` raises, `LastOwner` and `SignInEnded`.
    """
    require_proof(ctx, user, given)
    erase(ctx, user.account.id, user.account.epoch)


def _read_profile(
    ctx: Context, name: str | None, identifiers: Mapping[str, str]
) -> dict[str, Identifier | None]:
    """The login names by kind; None for a kind whose text is empty, which removes it."""
    valid, errors = read_identifiers(ctx.settings, identifiers)
    errors += read_line("name", name).errors
    if errors:
        raise ValidationFailed(details=errors)
    return dict.fromkeys(identifiers) | {item.kind: item for item in valid}


def _enabled(ctx: Context, identifiers: Mapping[str, str | None]) -> dict[str, str]:
    enabled = ctx.settings.login_identifiers
    return {
        kind: text for kind, text in identifiers.items() if kind in enabled and text is not None
    }


def _change(
    ctx: Context,
    user_id: UUID,
    epoch: int | None,
    name: str | None,
    names: Mapping[str, Identifier | None],
    cause: Cause | None = None,
) -> User:
    """Set the name and the login names (kind -> name) of a user.

    A ``name`` of None stays as it is, an empty one is removed; a login name of None is removed.
    Raises `IdentifierTaken`, and `SignInEnded` unless ``epoch`` is still that of the user, who is
    enabled; with None (an administrator) neither is checked.
    """
    conditions = () if epoch is None else unchanged_since(epoch)
    now = clock.now()
    user = ctx.db.scalar(select(User).where(User.id == user_id, *conditions).with_for_update())
    if user is None:
        raise SignInEnded
    changed = [
        kind for kind, new in names.items() if getattr(user, kind) != (new.display if new else None)
    ]
    for kind in changed:
        _set_login_name(ctx, user, kind, names[kind])
    if name is not None and user.name != (line := one_line(name)):
        user.name = line
        changed.append("name")
    if cause and not changed:
        return user
    user.updated_at = now
    details = details_of(cause, changed=" ".join(sorted(changed)))
    record(ctx, Event.USER_CHANGED, user_id=user_id, details=details)
    return user


def _set_login_name(ctx: Context, user: User, kind: str, identifier: Identifier | None) -> None:
    """Replace or remove a login name. Raises `IdentifierTaken`."""
    left = getattr(user, kind)
    setattr(user, kind, identifier.display if identifier else None)
    try:
        with ctx.db.begin_nested():
            ctx.db.execute(
                delete_rows(LoginName)
                .where(LoginName.user_id == user.id, LoginName.kind == kind)
                .execution_options(synchronize_session=False)
            )
            if identifier:
                row = {"key": identifier.key, "kind": kind, "user_id": user.id}
                ctx.db.execute(insert(LoginName), [row])
                if former.find_reserved_username(ctx.settings, ctx.db, [identifier], user.id):
                    raise IdentifierTaken([kind])
            if kind == "username" and left:
                former.release(ctx, left, user.id)
    except IntegrityError:
        raise IdentifierTaken([kind]) from None


def _exempt_present(
    ctx: Context, user: SignedInUser, changed: users.ChangedUser | None
) -> RenewedSession | None:
    """Exempt the present sign-in from the raised epoch; return the new key of a browser session.

    Raises `SignInEnded` if the epoch was not raised, since the sign-in had ended before.
    """
    if changed is None:
        raise SignInEnded
    if user.family_id:
        families.exempt(ctx, user.account.id, user.family_id, changed.epoch)
    if user.browser_session_id:
        return sessions.renew(ctx, user.account.id, user.browser_session_id, changed.epoch)
    return None
