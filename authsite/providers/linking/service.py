"""Link an identity to the signed-in user, confirm with one, and unlink one.

An identity is a way to sign in, so linking and unlinking need a proof (`require_proof`). That of
linking is asked when the browser leaves for the provider.
"""

from uuid import UUID

from sqlalchemy.orm import Session

from authsite.account import sessions as active_sessions
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.http.errors import ApiError, FieldError, NotFound, ValidationFailed
from authsite.platform.i18n import _
from authsite.platform.mail import outbox
from authsite.platform.mail.message import MailBuilder, MailContent, MailJob
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.platform.settings.sections.providers import Provider
from authsite.sign_in import pending
from authsite.sign_in.factors import state
from authsite.sign_in.factors.policy import can_sign_in, is_asked
from authsite.sign_in.methods.provider import (
    ProvidedIdentity,
    ProviderFailure,
    ProviderRefused,
)
from authsite.sign_in.notices import may_mail_own_address
from authsite.sign_in.reauthentication import ProofFields, is_recent, require_proof
from authsite.sign_in.sessions import service as sessions_service
from authsite.sign_in.sessions.service import RenewedSession
from authsite.users import identities
from authsite.users import service as users
from authsite.users.account import AAL2, PROVIDER, Account, SignedInUser, reaches
from authsite.users.caller import Caller
from authsite.users.errors import SignInEnded
from authsite.users.identities import AlreadyLinked, Identity, NewIdentity
from authsite.users.mails import MAIL_USER, content_for, forgot_page
from authsite.users.models import User

# The notices about a linked, a new and an unlinked identity.


def send_linked(ctx: Context, recipient: Recipient, identity_id: UUID) -> None:
    """Enqueue the notice that the signed-in user has linked the identity."""
    _send(ctx, "identity_linked", recipient, identity_id)


def send_new(ctx: Context, recipient: Recipient, identity_id: UUID) -> None:
    """Enqueue the notice that a first sign-in with the identity was taken as one of the user."""
    _send(ctx, "identity_new", recipient, identity_id)


def send_unlinked(ctx: Context, recipient: Recipient) -> None:
    """Enqueue the notice that an identity was unlinked; it names those that are left."""
    _send(ctx, "identity_unlinked", recipient, None)


def build_linked(job: MailJob) -> MailContent | None:
    """The notice, with the provider if the identity is still there; None without the user."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None:
        return None
    with Session(job.services.database.autocommit) as db:
        found = db.get(Identity, job.mail.about_id) if job.mail.about_id else None
        provider = identities.label(job.services.settings, found) if found else None
    return content_for(user, job, link=forgot_page(job), about=provider)


def build_unlinked(job: MailJob) -> MailContent | None:
    """The notice, with the providers that are left; None if the user was deleted or disabled."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None:
        return None
    left = ", ".join(identities.labels_of(job.services, user.id)) or None
    return content_for(user, job, link=forgot_page(job), about=left)


def _send(ctx: Context, kind: str, recipient: Recipient, identity_id: UUID | None) -> None:
    new = outbox.NewMail(kind, recipient, about_id=identity_id, names_device=True)
    outbox.put(ctx, new)


BUILDERS: dict[str, MailBuilder] = {
    "identity_linked": build_linked,
    "identity_new": build_linked,
    "identity_unlinked": build_unlinked,
}


# Errors of identities.


class UnknownIdentity(NotFound):
    summary = "No identity of the user has this id: it was removed, or belongs to another user."
    message = _("There is no such sign-in method, or it was disconnected. Get the list again.")


class LastSignInMethod(ApiError):
    summary = "Without this identity the user could not sign in any more."
    status = 409
    code = "last_sign_in_method"
    message = _(
        "This is your last way to sign in, so it cannot be disconnected. Set a password first, or "
        "connect another provider."
    )


class UnknownClient(NotFound):
    summary = "No client of this name is configured."
    message = "There is no client of this name. Check the name in the path."


def link(ctx: Context, caller: Caller, provided: ProvidedIdentity) -> None:
    """Link the identity that a provider told to the signed-in user, whatever its address is.

    An identity of the user stays as it is. The user gets a notice. Call it before the request has
    written anything. Raises `ProviderRefused` for an identity of another user and for one that the
    provider's `domains` do not allow, and `SignInEnded`.
    """
    account, provider = caller.acting_user(), _provider(ctx, provided)
    if not provided.allowed:
        raise ProviderRefused(ProviderFailure.DOMAIN, provider, subject=provided.subject)
    notify = may_mail_own_address(ctx, account)
    _lock(ctx, account)
    if _is_linked(ctx, account, provider, provided):
        return
    new = NewIdentity(
        provided.provider, provided.issuer, provided.subject, provided.email, provided.trusted
    )
    try:
        made = identities.link(ctx, account.id, new)
    except AlreadyLinked:
        _is_linked(ctx, account, provider, provided)
        return
    record(ctx, Event.PROVIDER_LINKED, user_id=account.id, details=identities.about(provided))
    if notify:
        send_linked(ctx, Recipient(account.id, account.email), made.id)


def confirm(ctx: Context, caller: Caller, provided: ProvidedIdentity) -> RenewedSession:
    """Take a recent sign-in at the provider as a proof of the signed-in user; see `require_proof`.

    Returns the new key of the browser session. It counts only if the provider tells when the person
    has proved there to be who they are, and that was less than `PROOF_LIFETIME` ago: a provider
    that remembers the browser proves nothing about who sits in front of it. Raises
    `ProviderRefused`, also for an identity that is not one of the user's, and `SignInEnded`.
    """
    account, provider = caller.acting_user(), _provider(ctx, provided)
    identity = identities.find(ctx, provided.issuer, provided.subject)
    if identity is None or identity.user_id != account.id:
        raise ProviderRefused(ProviderFailure.NOT_LINKED, provider, subject=provided.subject)
    if not provided.vouched:
        raise ProviderRefused(ProviderFailure.NOT_VOUCHED_FOR, provider, subject=provided.subject)
    if provided.auth_time is None or not is_recent(provided.auth_time):
        raise ProviderRefused(ProviderFailure.NOT_RECENT, provider, subject=provided.subject)
    if caller.browser_uuid is None:
        raise SignInEnded
    now, since = clock.now(), state.read(ctx, account.id).second_factor_at
    renewed = sessions_service.confirm(
        ctx,
        account,
        caller.browser_uuid,
        PROVIDER,
        min(provided.auth_time, now),
        # A second factor is asked for next (`sign_in.step_up`): alone this would lower the level,
        # or be a recent sign-in without the factor.
        whole=not (reaches(caller.acr, AAL2) or is_asked(ctx.settings, since, now)),
    )
    if renewed is None:
        raise SignInEnded
    identity.used_at = now
    record(ctx, Event.PROVIDER_CONFIRMED, user_id=account.id, details=identities.about(provided))
    return renewed


def unlink(ctx: Context, user: SignedInUser, identity_id: UUID | None, given: ProofFields) -> bool:
    """Remove one identity of the user, and end all that began with it.

    Returns whether the present session was one of them. The user gets a notice.

    Raises what `require_proof` raises, `UnknownIdentity` (also for None),
    `LastSignInMethod` if the user could not sign in any more, and `SignInEnded`.
    """
    account = user.account
    notify = require_proof(
        ctx, user, given, before_writing=lambda: may_mail_own_address(ctx, account)
    )
    row = _lock(ctx, account)
    found = identities.list_of(ctx, account.id)
    wanted = next((each for each in found if each.id == identity_id), None)
    if wanted is None:
        raise UnknownIdentity
    if not can_sign_in(ctx, row, [each for each in found if each is not wanted]):
        raise LastSignInMethod
    identities.remove(ctx, account.id, Identity.id == wanted.id)
    pending.end_begun_with(ctx, account.id, wanted.id)
    began = active_sessions.end_begun_with(ctx, account.id, wanted.id, user.session_id)
    if notify:
        send_unlinked(ctx, Recipient(account.id, account.email))
    return user.session_id in began


def list_removable(ctx: Context, user_id: UUID) -> list[tuple[Identity, bool]]:
    """The identities of the user, each with whether it can be removed."""
    user, found = ctx.db.get(User, user_id), identities.list_of(ctx, user_id)
    if user is None:  # erased by another request, while this one shows its errors
        return []
    return [
        (item, can_sign_in(ctx, user, [each for each in found if each is not item]))
        for item in found
    ]


def _provider(ctx: Context, provided: ProvidedIdentity) -> Provider:
    provider = ctx.settings.provider(provided.provider)
    if provider is None:
        raise RuntimeError("a provider that is not in the settings has told something")
    return provider


def _is_linked(
    ctx: Context, account: Account, provider: Provider, provided: ProvidedIdentity
) -> bool:
    """Whether the identity is linked to this user. Raises `ProviderRefused` if to another one."""
    found = identities.find(ctx, provided.issuer, provided.subject)
    if found is not None and found.user_id != account.id:
        raise ProviderRefused(
            ProviderFailure.LINKED_TO_ANOTHER_USER, provider, subject=provided.subject
        )
    return found is not None


def _lock(ctx: Context, account: Account) -> User:
    """The row of the user, locked, so that two requests cannot remove the last two identities.

    Raises `SignInEnded` if the sign-in has ended.
    """
    row = users.lock_unchanged(ctx.db, account.id, account.epoch)
    if row is None:
        raise SignInEnded
    return row


# Errors of the forms after a return.


class Changed(ApiError):
    """The account or the identity is not as it was when the page was opened."""

    status = 409
    code = "changed"
    message = _("Something has changed since you opened this page. Look at it again.")


class WrongPassword(ValidationFailed):
    """The password is not that of the account; the audit row of the failure is kept."""

    keeps_writes = True

    def __init__(self) -> None:
        message = _("This is not the password of the account. Enter it again.")
        super().__init__(details=[FieldError("invalid_password", "password", message)])
