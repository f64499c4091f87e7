"""What administrators do with an account. Of access to it: `access`; its end: `deletion`.

Each function works in the request's transaction, locks the user, and raises `Outranked` and
`UnknownObject` (`subject.lock`), then `ValidationFailed` with all that is wrong with the fields and
the reason. It returns the user with the present values. A change that was made before is none: no
event, no mail. No administrator sets or sees a password (OWASP ASVS 5.0, 6.4.6).
"""

from collections.abc import Mapping, Sequence

from authsite.account.service import administered_profile_errors, change_as_administrator
from authsite.admin import reasons
from authsite.admin.administrator import Administrator
from authsite.admin.rank import require_rank
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.http.bodies import errors_of, require_valid
from authsite.platform.http.errors import FieldError
from authsite.platform.i18n import _
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.recovery import service as recovery
from authsite.sign_in.factors import remembered
from authsite.users import pending
from authsite.users import service as users
from authsite.users.groups import owners
from authsite.users.models import User
from authsite.verification import email_change
from authsite.verification.service import choose_page
from authsite.verification.service import mail_link as mail_verification

from . import mails, subject
from .errors import UserIsDisabled


def disable(ctx: Context, by: Administrator, user: User, reason: str | None) -> User:
    """End all sign-ins and allow no new ones. Raises `LastOwner`."""
    require_rank(by, user)
    cause = reasons.cause(by, reason, required=True)
    owners.require_another(ctx.db, user.id)  # in one order: first all owners, then the user
    found = subject.lock(ctx, by, user)
    if users.disable(ctx, found, cause):
        mails.send(ctx, "account_disabled", found)
    return found


def enable(ctx: Context, by: Administrator, user: User, reason: str | None = None) -> User:
    """Let a disabled user sign in again, and end a deletion that was to come."""
    found = subject.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    if users.enable(ctx, found, cause):
        mails.send(ctx, "account_enabled", found)
    return found


def sign_out(ctx: Context, by: Administrator, user: User, reason: str | None = None) -> User:
    """End all sign-ins of the user, and all tokens; every remembered browser is forgotten."""
    found = subject.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    users.sign_out(ctx, found, cause)
    remembered.forget_all(ctx, found.id)
    mails.send(ctx, "sign_ins_ended", found)
    return found


def confirm(ctx: Context, by: Administrator, user: User, reason: str | None) -> User:
    """Mark the e-mail address as confirmed."""
    found = subject.lock(ctx, by, user)
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
    found = subject.lock(ctx, by, user)
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
    found = subject.lock(ctx, by, user)
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
    found = subject.lock(ctx, by, user)
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
    found = subject.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    _require_not_disabled(found)
    expires_at = clock.now() + ctx.settings.verification_expires_in
    address = pending.prolong(ctx.db, found.id, expires_at)
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
