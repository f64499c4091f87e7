"""What administrators do with an account. Of access to it: `access`; its end: `deletion`.

Each function works in the request's transaction, locks the user, and raises `Outranked` and
`UnknownObject` (`detail.lock`), then `ValidationFailed` with all that is wrong with the fields and
the reason. It returns the user with the present values. A change that was made before is none: no
event, no mail. No administrator sets or sees a password (OWASP ASVS 5.0, 6.4.6).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from authsite.account import service as export
from authsite.account import sessions
from authsite.account.service import administered_profile_errors, change_as_administrator
from authsite.admin import reasons
from authsite.admin.errors import AccountChanged, Outranked, UnknownObject, UserIsDisabled
from authsite.admin.guard import Administrator, require_other, require_rank
from authsite.groups import administrators, members
from authsite.oauth.personal import service as personal_tokens
from authsite.oauth.tokens import active_personal
from authsite.oauth.tokens.families import list_personal
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, record
from authsite.platform.context import Context, Services
from authsite.platform.db.batches import Batch
from authsite.platform.http.bodies import errors_of, require_valid
from authsite.platform.http.errors import FieldError
from authsite.platform.i18n import _
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.recovery import service as recovery
from authsite.sign_in.factors import recovering, remembered
from authsite.sign_in.factors.service import Left
from authsite.sign_in.identifiers import normalized_key
from authsite.users import former
from authsite.users import service as users
from authsite.users.groups import group_scopes
from authsite.users.groups.group_scopes import require_another
from authsite.users.groups.labels import OWNER, existing_groups_of, is_reserved
from authsite.users.models import User
from authsite.users.service import erase, erase_where
from authsite.verification import email_change
from authsite.verification.service import choose_page
from authsite.verification.service import mail_link as mail_verification

from . import detail, mails


def disable(ctx: Context, by: Administrator, user: User, reason: str | None) -> User:
    """End all sign-ins and allow no new ones. Raises `LastOwner`."""
    require_rank(by, user)
    cause = reasons.cause(by, reason, required=True)
    group_scopes.require_another(ctx.db, user.id)  # in one order: first all owners, then the user
    found = detail.lock(ctx, by, user)
    if users.disable(ctx, found, cause):
        mails.send(ctx, "account_disabled", found)
    return found


def enable(ctx: Context, by: Administrator, user: User, reason: str | None = None) -> User:
    """Let a disabled user sign in again, and end a deletion that was to come."""
    found = detail.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    if users.enable(ctx, found, cause):
        mails.send(ctx, "account_enabled", found)
    return found


def sign_out(ctx: Context, by: Administrator, user: User, reason: str | None = None) -> User:
    """End all sign-ins of the user, and all tokens; every remembered browser is forgotten."""
    found = detail.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    users.sign_out(ctx, found, cause)
    remembered.forget_all(ctx, found.id)
    mails.send(ctx, "sign_ins_ended", found)
    return found


def confirm(ctx: Context, by: Administrator, user: User, reason: str | None) -> User:
    """Mark the e-mail address as confirmed."""
    found = detail.lock(ctx, by, user)
    cause = reasons.cause(by, reason, required=True)
    if users.confirm(ctx, found, cause):
        mails.send(ctx, "address_confirmed", found)
    return found


def change_profile(
    ctx: Context,
    by: Administrator,
    user: User,
    reason: str | None,
    *,
    name: str | None = None,
    username: str | None = None,
    phone: str | None = None,
) -> User:
    """Change name, username and phone number; None leaves a value, an empty text removes it.

    A login name needs a reason. Raises `ValidationFailed` also for a kind of login name that users
    do not have, and `IdentifierTaken`.
    """
    texts = {"name": name, "username": username, "phone": phone}
    given = {field: text for field, text in texts.items() if text is not None}
    require_valid(profile_errors(ctx, by, user, reason, given))
    cause = reasons.cause(by, reason)
    found = detail.lock(ctx, by, user)
    before = found.username, found.phone
    names = {kind: text for kind, text in given.items() if kind != "name"}
    change_as_administrator(ctx, found, name, names, cause)
    if before != (found.username, found.phone):
        mails.send(ctx, "login_names_changed", found)
    return found


def profile_errors(
    ctx: Context,
    by: Administrator,
    user: User,
    reason: str | None,
    given: Mapping[str, str | None],
) -> Sequence[FieldError]:
    """What `change_profile` finds wrong with the fields and the reason. Raises `Outranked`.

    ``given``: the new texts by field; None for one of which the error is known.
    """
    require_rank(by, user)
    names = {kind: text for kind, text in given.items() if kind != "name"}
    known = ctx.settings.login_identifiers
    message = _("Users have no such login name here. Leave it out.")
    unknown = [FieldError("invalid", kind, message) for kind in names if kind not in known]
    wrong = administered_profile_errors(ctx, user, given.get("name"), names)
    return [*unknown, *wrong, *reasons.errors(by, reason, required=bool(names))]


def change_email(
    ctx: Context,
    by: Administrator,
    user: User,
    email: str,
    reason: str | None,
    *,
    confirmed: bool = False,
) -> User:
    """Change the e-mail address, once the new one is proved by the link that is mailed to it.

    With ``confirmed`` at once, since the administrator knows that it is the user's. All sign-ins
    end then. Count it first (`count_mail`). Raises `AddressTaken`, and `UserIsDisabled` for a link
    that would not work.
    """
    require_valid(email_errors(ctx, by, user, email, reason))
    cause = reasons.cause(by, reason)
    count_mail(ctx, by)
    found = detail.lock(ctx, by, user)
    if confirmed:
        if found.email_verified_at is None or found.email != email.strip():
            # The operator's command is for an account that an intruder may have taken over.
            may_be_undone = by.kind != "command"
            email_change.set_address(ctx, found, email, cause, may_be_undone=may_be_undone)
            mails.send(ctx, "address_confirmed", found)
        return found
    _require_not_disabled(found)
    email_change.propose_address(ctx, found, email, cause)
    return found


def email_errors(
    ctx: Context, by: Administrator, user: User, email: str | None, reason: str | None
) -> Sequence[FieldError]:
    """What `change_email` finds wrong with the address and the reason. Raises `Outranked`."""
    require_rank(by, user)
    wrong = errors_of(lambda: email_change.require_free(ctx, user, email)) if email else ()
    return [*wrong, *reasons.errors(by, reason, required=True)]


def send_reset(ctx: Context, by: Administrator, user: User, reason: str | None = None) -> User:
    """Mail a link that resets the password. Count it first (`count_mail`).

    Raises `UserIsDisabled`.
    """
    count_mail(ctx, by)
    found = detail.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    _require_not_disabled(found)
    recovery.mail_link(ctx, Recipient(found.id, found.email))
    record(ctx, Event.RECOVERY_REQUESTED, user_id=found.id, details=cause.details())
    return found


def send_verification(
    ctx: Context, by: Administrator, user: User, reason: str | None = None
) -> User:
    """Mail a link again: to the pending address, else to the present one if it is not confirmed.

    Count it first (`count_mail`). Raises `UserIsDisabled`.
    """
    count_mail(ctx, by)
    found = detail.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    _require_not_disabled(found)
    expires_at = clock.now() + ctx.settings.verification_expires_in
    address = former.prolong(ctx.db, found.id, expires_at)
    if address is None and found.email_verified_at is not None:
        return found
    recipient = Recipient(found.id, address or found.email)
    is_change = recipient.address != found.email
    mail_verification(ctx, recipient, choose_page(ctx), change=is_change, cause=cause)
    return found


def count_mail(ctx: Context, by: Administrator) -> None:
    """Count a mail that ``by`` has sent to a user, once in a request.

    A view calls it before the transaction reads or writes. Raises `TooManyAttempts` over the limit
    ``admin-mail`` of the caller.
    """
    ctx.limits.count("admin-mail", by.limit_subject)


def count_notice(ctx: Context, by: Administrator, user_id: str) -> None:
    """Count an action that can be done again and again, and of which the user is told each time.

    As `count_mail`, with the same limit for each user: one administrator, or who has a token of
    one, must not fill a mailbox. A notice is never left out instead. ``user_id`` as in the path.
    """
    ctx.limits.count("admin-mail", by.limit_subject, user_id.lower())


def _require_not_disabled(user: User) -> None:
    if user.disabled_at is not None:
        raise UserIsDisabled


# What administrators do with the access to an account: sign-ins, tokens, factors, limits, data.
#
# As in `actions`, each function locks the user, and raises `Outranked`, `UnknownObject` and
# `ValidationFailed` for a wrong reason.


def end_session(
    ctx: Context, by: Administrator, user: User, session_id: UUID, reason: str | None = None
) -> User:
    """End one sign-in of the user, with the personal access tokens that were created in it.

    Raises `UnknownObject` where the user has no such sign-in.
    """
    found = detail.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    if not sessions.end(ctx, found.id, session_id, None, cause=cause):
        raise UnknownObject
    return found


def revoke_token(
    ctx: Context, by: Administrator, user: User, token_id: UUID, reason: str | None = None
) -> User:
    """Revoke one personal access token. Raises `UnknownObject` where the user has none like it."""
    found = detail.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    if not personal_tokens.revoke(ctx, found.id, token_id, cause):
        raise UnknownObject
    mails.send(ctx, "tokens_revoked", found)
    return found


def revoke_tokens(ctx: Context, by: Administrator, user: User, reason: str | None = None) -> User:
    """Revoke all personal access tokens."""
    found = detail.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    listed = list_personal(ctx, found.id)
    active_personal.end_all(ctx, found.id, "revoked by an administrator", cause)
    if listed:
        mails.send(ctx, "tokens_revoked", found)
    return found


def reset_factors(ctx: Context, by: Administrator, user: User, reason: str | None) -> Left:
    """Remove all second factors, passkeys and recovery codes; all sign-ins end.

    Returns what there was. Of members of reserved groups by a command alone, and never by a client.
    """
    found = detail.lock(ctx, by, user)
    require_factors(by, found)
    cause = reasons.cause(by, reason, required=True)
    removed = recovering.reset(ctx, found, cause)
    users.end_sign_ins(ctx, found.id)
    return removed


def remove_factor(
    ctx: Context, by: Administrator, user: User, factor_id: UUID, reason: str | None = None
) -> User:
    """Remove one second factor or passkey, as `reset_factors` removes all; no sign-in ends.

    Raises `UnknownObject` where the user has none like it.
    """
    found = detail.lock(ctx, by, user)
    require_factors(by, found)
    cause = reasons.cause(by, reason)
    if not recovering.remove_one(ctx, found, factor_id, cause):
        raise UnknownObject
    mails.send(ctx, "factor_taken", found)
    return found


def require_factors(by: Administrator, user: User) -> None:
    """Raise `PermissionMissing` or `Outranked` unless ``by`` may take factors from the user."""
    detail.require_person(by, "factors:write")
    require_rank(by, user)
    detail.require_command_for_administrators(by, user)


def forget_browsers(ctx: Context, by: Administrator, user: User, reason: str | None = None) -> User:
    """Ask for the second factor again in every browser that was remembered."""
    detail.require_person(by, "factors:write")
    found = detail.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    if remembered.count(ctx, found.id):
        remembered.forget_all(ctx, found.id)
        record(ctx, Event.BROWSER_FORGOTTEN, user_id=found.id, details=cause.details())
    return found


def lift_limits(ctx: Context, by: Administrator, user: User, reason: str | None) -> int:
    """End the lockouts of the user and the counts of attempts; returns how many counts ended.

    Those of a recognized browser or address, which are counted apart, end by themselves.
    """
    found = detail.lock(ctx, by, user)
    cause = reasons.cause(by, reason, required=True)
    lifted = export.end_counters(ctx, found.id)
    if lifted:
        details = cause.details(lifted=str(lifted))
        record(ctx, Event.LIMIT_LIFTED, user_id=found.id, details=details)
    return lifted


def count_export(ctx: Context, by: Administrator) -> None:
    """Count an export by ``by``, once in a request.

    A view calls it before the transaction reads or writes. Raises `TooManyAttempts` over the limit
    ``admin-export`` of the caller.
    """
    ctx.limits.count("admin-export", by.limit_subject)


def export_data(
    ctx: Context, by: Administrator, user: User, reason: str | None = None
) -> dict[str, Any]:
    """Everything that is stored about the user, ready for JSON. Never for a client.

    Count it first (`count_export`).
    """
    detail.require_person(by, "exports:read")
    count_export(ctx, by)
    found = detail.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    return export.export_as_administrator(ctx, found, cause)


# The deletion of a user: seven days as a disabled one, who can be enabled, then erased.


WAIT = timedelta(days=7)

_OTHER_ADDRESS = _("This is not the address of the account. Type it to delete the account.")


def delete(
    ctx: Context,
    by: Administrator,
    user: User,
    reason: str | None,
    email: str | None,
    *,
    now: bool = False,
) -> datetime | None:
    """Disable the user, who is erased in seven days; returns when. None: erased at once (``now``).

    ``email``: the address of the user, typed by a person as a confirmation; a command has its own.
    Enabling the user ends the deletion. ``now`` is for owners. Raises `ValidationFailed`,
    `Outranked`, `UnknownObject` and `LastOwner`.
    """
    require_valid(deletion_errors(ctx, by, user, reason, email, now=now))
    cause = reasons.cause(by, reason)
    group_scopes.require_another(ctx.db, user.id)  # in one order: first all owners, then the user
    found = detail.lock(ctx, by, user)
    require_valid(_address_errors(by, found, email))  # it may have changed before the lock
    if now:
        erase(ctx, found.id, None, why="administrator", cause=cause)
        if by.kind != "command":
            mails.send_erased(ctx, found)
        ctx.db.expunge(found)
        return None
    if found.delete_at is not None:
        return found.delete_at
    moment = clock.now()
    delete_at = moment + WAIT
    users.end_sign_ins(
        ctx,
        found.id,
        end_reset_links=True,
        disabled_at=found.disabled_at or moment,
        delete_at=delete_at,
        updated_at=moment,
    )
    details = cause.details(delete_at=clock.rfc3339(delete_at))
    record(ctx, Event.USER_DELETION_SCHEDULED, user_id=found.id, details=details)
    mails.send(ctx, "account_deletion", found, delete_at)
    return delete_at


def deletion_errors(
    ctx: Context,
    by: Administrator,
    user: User,
    reason: str | None,
    email: str | None,
    *,
    now: bool = False,
) -> Sequence[FieldError]:
    """What `delete` finds wrong with the address and the reason. Raises `Outranked`."""
    require_rank(by, user)
    if now and not detail.is_owner(ctx, by):
        raise Outranked
    return [*_address_errors(by, user, email), *reasons.errors(by, reason, required=True)]


def _address_errors(by: Administrator, user: User, email: str | None) -> Sequence[FieldError]:
    if by.kind == "command":
        return ()
    if not email or normalized_key("email", email) != normalized_key("email", user.email):
        return [FieldError("invalid", "email", _OTHER_ADDRESS)]
    return ()


def erase_due(services: Services, connection: Connection, now: datetime) -> Iterator[Batch]:
    """Erase the users whose time has come, unless an administrator has enabled them again."""
    return erase_where(services, connection, [User.delete_at <= now], User.delete_at, why="due")


# In which groups a user is, reserved ones too, as an administrator decides.


def join(
    ctx: Context,
    by: Administrator,
    user: User,
    group: str,
    reason: str | None,
    account: str | None = None,
) -> bool:
    """Add the user to a group; whether the user was not in it.

    ``account``: as of `set_groups`. Raises `Outranked`, also for one's own groups and, for a
    client, at a reserved group, `UnknownObject`, `UnknownGroup`, `UnknownRole`, `NotConfirmed`,
    `TooManyGroups` and `AccountChanged`.
    """
    return _change(ctx, by, user, lambda present: present | {group}, reason, account)


def leave(ctx: Context, by: Administrator, user: User, group: str, reason: str | None) -> bool:
    """Remove the user from a group; whether the user was in it.

    The tokens that carry a scope of it alone end. Raises what `join` raises, and `LastOwner`.
    """
    return _change(ctx, by, user, lambda present: present - {group}, reason)


def set_groups(
    ctx: Context,
    by: Administrator,
    user: User,
    groups: Collection[str],
    reason: str | None,
    *,
    shown: Collection[str] | None = None,
    account: str | None = None,
) -> bool:
    """Make ``groups`` all those that the user is in; whether that changes anything.

    ``shown``: the groups that ``by`` has seen the user in. Only what differs from these changes: a
    group that another administrator has taken away since then does not come back. ``account``: the
    `account_shown` that ``by`` has seen; for a role it must still be that of the user, whose
    address another administrator may have changed.

    The user gets one notice. Raises what `join` and `leave` raise, and `AccountChanged`.
    """
    chosen = set(groups)
    if shown is None:
        return _change(ctx, by, user, lambda _present: chosen, reason, account)
    seen = set(shown)
    return _change(
        ctx, by, user, lambda present: present - (seen - chosen) | chosen - seen, reason, account
    )


def account_shown(user: User) -> str:
    """What a form carries of the account that it shows: its epoch and its address."""
    return f"{user.epoch} {user.email}"


def _change(
    ctx: Context,
    by: Administrator,
    user: User,
    choose: Callable[[set[str]], set[str]],
    reason: str | None,
    account: str | None = None,
) -> bool:
    """Make ``choose(present)`` the groups of the user.

    ``present`` are those of the locked user: a group that another transaction takes away before
    the lock does not come back.
    """
    require_other(by, user)
    require_rank(by, user)
    cause = reasons.cause(by, reason)
    if OWNER not in choose({OWNER}):
        require_another(ctx.db, user.id)  # in one order: first all owners, then the user
    found = detail.lock(ctx, by, user)
    before = set(existing_groups_of(ctx.db, found.id))
    groups = choose(before)
    lost, gained = sorted(before - groups), sorted(groups - before)
    if any(map(is_reserved, [*lost, *gained])):
        detail.require_person(by, "groups:write")
    if account not in (None, account_shown(found)) and any(map(is_reserved, gained)):
        raise AccountChanged
    for name in lost:
        _leave(ctx, found, name, cause)
    for name in gained:
        _join(ctx, found, name, cause)
    if not lost and not gained:
        return False
    mails.send(ctx, "groups_changed", found)
    return True


def _join(ctx: Context, user: User, name: str, cause: Cause) -> None:
    if is_reserved(name):
        administrators.grant(ctx, user, name, cause)
    else:
        members.add(ctx, name, user.id, cause)


def _leave(ctx: Context, user: User, name: str, cause: Cause) -> None:
    if is_reserved(name):
        administrators.revoke(ctx, user, name, cause)
    else:
        members.remove(ctx, name, user.id, cause)
