"""Reset a forgotten password (OWASP Forgot Password cheat sheet)."""

import re
import struct
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import bindparam, literal_column, select

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import pseudonym, record
from authsite.platform.context import Context
from authsite.platform.crypto.keys import KeyRing
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.db import PreparedQuery, after_commit
from authsite.platform.db.prepared import columns_of
from authsite.platform.http.bodies import errors_of
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.http.return_to import choose_page_url
from authsite.platform.i18n import _
from authsite.platform.mail import outbox
from authsite.platform.mail.message import (
    MailBuilder,
    MailContent,
    MailJob,
    is_own_page,
    with_query,
)
from authsite.platform.mail.outbox import NO_RECIPIENT, Recipient
from authsite.platform.passwords import policy
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import (
    Credential,
    find_credential,
    forget_failures,
    owner_of,
    remember_caller,
)
from authsite.sign_in.identifiers import normalized_key
from authsite.users import service as users
from authsite.users.identities import remove_untrusted
from authsite.users.mails import MAIL_USER, content_for
from authsite.users.models import LoginName, User

# Reset tokens: sealed values that are not stored in a table.
#
# A token contains only its expiry. It is bound to the user's id, ``recovery_version`` and stored
# address. So a new password, a new address and disabling the user invalidate all links that were
# mailed before. Ending the sign-ins does not: otherwise an intruder could invalidate the owner's
# link.
#
# The short link to authsite's own page has the user's id before the token, instead of the
# address.


PURPOSE = "reset token"
_FORMAT = SealedFormat()
_LINK = re.compile(r"([0-9a-f]{32})(.+)")


class Recoverable(Protocol):
    """A user whose password can be reset."""

    @property
    def id(self) -> UUID: ...
    @property
    def recovery_version(self) -> int: ...
    @property
    def email(self) -> str: ...


def make(ring: KeyRing, user: Recoverable, expires: datetime) -> str:
    """Make a token for the present state of ``user``, valid until ``expires`` (whole seconds)."""
    return _FORMAT.seal(ring, expires=int(expires.timestamp()), bound=_state(user))


def is_valid(ring: KeyRing, text: str, user: Recoverable, now: datetime) -> bool:
    """Whether ``text`` is a token for the present state of ``user`` and not expired at ``now``."""
    return _FORMAT.unseal(ring, text, now, _state(user)) is not None


def was_made(ring: KeyRing, text: str, user: Recoverable) -> bool:
    """Whether ``text`` is a token for the present state of ``user``, expired or not."""
    return _FORMAT.unseal_expired(ring, text, _state(user)) is not None


def for_link(user: Recoverable, token: str) -> str:
    """What the short link to authsite's own page ends with."""
    return f"{user.id.hex}{token}"


def split_link(text: str) -> tuple[UUID | None, str]:
    """The user's id and the token of a short link; the id is None if there is none."""
    parts = _LINK.fullmatch(text)
    return (UUID(parts[1]), parts[2]) if parts else (None, "")


def _state(user: Recoverable) -> bytes:
    return user.id.bytes + struct.pack(">Q", user.recovery_version) + user.email.encode()


# The mail with a reset link.


RESET_PAGE = "/password/reset"


def send_reset(ctx: Context, recipient: Recipient, page_url: str) -> None:
    """Enqueue the link that resets the password; ``page_url`` is where it leads."""
    expires_at = clock.now() + ctx.settings.reset_expires_in
    outbox.put(ctx, outbox.NewMail("reset", recipient, page_url=page_url, expires_at=expires_at))


def build_reset(job: MailJob) -> MailContent | None:
    """The reset link; None if the user was deleted, disabled, or has another address.

    The token is made for the `recovery_version` at the time of sending: a password change between
    the request and the sending does not invalidate the link.
    """
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None or user.email != job.mail.address or not job.mail.expires_at:
        return None
    token = make(job.services.keys[PURPOSE], user, job.mail.expires_at)
    if is_own_page(job, RESET_PAGE):
        link = f"{job.mail.page_url}/{for_link(user, token)}"
    else:
        link = with_query(job.mail.page_url, email=user.email, token=token)
    return content_for(user, job, link=link)


BUILDERS: dict[str, MailBuilder] = {"reset": build_reset}


# Errors of a password reset.


class InvalidResetToken(ValidationFailed):
    """The token is wrong, used, expired or of another address; the response is the same for all."""

    audit_event = Event.RECOVERY_REFUSED

    def __init__(self) -> None:
        message = _("This link is no longer valid. Request a new one.")
        super().__init__(details=[FieldError("invalid_token", "token", message)])


class Resettable(NamedTuple):
    """The user of a reset link, as read when the link was checked."""

    id: UUID
    email: str
    recovery_version: int
    username: str | None
    phone: str | None
    name: str | None


LINKED = PreparedQuery(
    select(*columns_of(User, Resettable)).where(
        User.id == bindparam("user_id"), User.disabled_at.is_(None)
    ),
    Resettable,
)
RESETTABLE = PreparedQuery(
    select(*columns_of(User, Resettable))
    .join(LoginName, LoginName.user_id == User.id)
    .where(
        LoginName.key == bindparam("key"),
        LoginName.kind == literal_column("'email'"),
        User.disabled_at.is_(None),
    ),
    Resettable,
)


def request_reset(ctx: Context, email: str, page_url: str | None = None) -> None:
    """Mail a reset link to the user with the address ``email``, within the limit of the address.

    ``page_url``: the page that the link opens; None for the default page. The mail goes to the
    *stored* address (CVE-2019-19844). For an unknown, malformed or disabled address, and over the
    limit, the outbox row has no recipient, so that cost and answer are the same. Raises
    `ValidationFailed` for a page that is not among the configured ones. Call it before the request
    has written anything.
    """
    page_url = choose_page_url(page_url, _page_urls(ctx), "reset_url")
    key = normalized_key("email", email)
    found = find_credential(ctx, email, ["email"])
    enabled = found if found and not found.disabled_at else None
    account = enabled and enabled.account
    allowed = _may_mail(ctx, key, enabled)
    recipient = Recipient(account.id, account.email) if account and allowed else NO_RECIPIENT
    send_reset(ctx, recipient, page_url)
    details = None if account else {"name": pseudonym(key)}
    record(ctx, Event.RECOVERY_REQUESTED, user_id=account.id if account else None, details=details)


def mail_link(ctx: Context, recipient: Recipient) -> None:
    """Mail a reset link that opens the default page, where its user has not requested one."""
    send_reset(ctx, recipient, _page_urls(ctx)[0])


def request_errors(ctx: Context, page_url: str | None) -> Sequence[FieldError]:
    """What `request_reset` finds wrong with the page, for a request that is refused already."""
    return errors_of(lambda: choose_page_url(page_url, _page_urls(ctx), "reset_url"))


def reset_errors(password: str | None, confirmation: str | None) -> Sequence[FieldError]:
    """What `reset` finds wrong for a request that is refused already.

    A password is not rated here: only a caller with the link learns what is wrong with it.
    """
    if password is None or confirmation in (None, password):
        return ()
    message = _("The two passwords do not match. Enter the same password twice.")
    return [FieldError("invalid", "password_confirmation", message)]


class ResetLink(NamedTuple):
    """What the form of the page needs: the address and the token of a link."""

    email: str
    token: str


def read_link(ctx: Context, text: str) -> ResetLink:
    """The content of the short link that ends with ``text``; it may have expired (`check_token`).

    Raises `InvalidResetToken` if it is not a link for the present address and password of a user: a
    link that was mailed before must not reveal the user's present address.
    """
    user_id, token = split_link(text)
    user = LINKED.one(ctx.database, user_id=user_id) if user_id else None
    if user is None or not was_made(ctx.services.keys[PURPOSE], token, user):
        raise InvalidResetToken
    return ResetLink(user.email, token)


def check_token(ctx: Context, email: str, token: str) -> Resettable:
    """Return the user whose password ``token`` can reset, without using the token.

    Raises `InvalidResetToken`.
    """
    user = RESETTABLE.one(ctx.database, key=normalized_key("email", email))
    ring = ctx.services.keys[PURPOSE]
    if user is None or not is_valid(ring, token, user, clock.now()):
        raise InvalidResetToken
    return user


def reset(
    ctx: Context, email: str, token: str, password: str, confirmation: str | None = None
) -> UUID:
    """Set a new password with ``token``, and end every session, token family and lockout.

    Returns the user's id.

    The token is checked before the password: only a caller with the link learns what is wrong
    with a password. One UPDATE that compares `recovery_version` uses the token up, so of racing
    resets one wins. A reset does not sign in and does not confirm the address. Raises
    `InvalidResetToken`, `ValidationFailed` for a password that breaks the policy or differs from
    ``confirmation`` (the token stays valid), and `HashCapacityExceeded`.
    """
    user = check_token(ctx, email, token)
    weak = policy.weakness(ctx.settings, ctx.passwords, password, user)
    errors = [*([weak] if weak else []), *reset_errors(password, confirmation)]
    if errors:
        raise ValidationFailed(details=errors)
    # The links "This was not me" in the same mailbox have served their purpose.
    if not replace_password(ctx, user, password, links_ended_at=clock.now()):
        raise InvalidResetToken
    return user.id


def replace_password(
    ctx: Context,
    user: Recoverable,
    password: str,
    *,
    mailbox: str | None = None,
    **changes: object,
) -> bool:
    """Set a new password, which was checked, for a person who has proved a mailbox of ``user``.

    ``mailbox``: its address; by default the present one. Every session, token family and lockout
    ends, and the identities go that `remove_untrusted` removes. Returns False, and changes nothing,
    if the user was disabled, or another password was set, since ``user`` was read. ``changes``:
    further columns of the user. Raises `HashCapacityExceeded`.
    """
    hashed = ctx.passwords.hash(password)
    unchanged = User.recovery_version == user.recovery_version, User.disabled_at.is_(None)
    changed = users.replace_password(
        ctx, user.id, hashed, *unchanged, notify=True, forget_recognized=True, **changes
    )
    if not changed:
        return False
    remove_untrusted(ctx, user.id, mailbox or changed.email)
    remember_caller(ctx, user.id, changed.recognition_version)
    record(ctx, Event.RECOVERY_DONE, user_id=user.id)
    after_commit(ctx.db, lambda: forget_failures(ctx, user.id))
    return True


def _may_mail(ctx: Context, key: str, found: Credential | None) -> bool:
    """Count a reset mail; return whether it is within the limit ``forgot-email`` of the address.

    Nothing but recovery counts against this limit. A browser or an IP address from which the owner
    logged in recently has a separate limit, so that no one else can use up the owner's mails. The
    cost is the same for an unknown address, which is counted under another key.
    """
    recognized = ctx.limits.recognized(owner_of(found, key))
    return ctx.limits.allows("forgot-email", key if found else f"unknown {key}", *recognized)


def _page_urls(ctx: Context) -> tuple[str, ...]:
    """The pages that a reset link may open; the first is the default."""
    cfg = ctx.settings
    own = tuple(f"{base_url}/password/reset" for base_url in ctx.request_info.base_urls)
    if cfg.variant == "B":
        return (cfg.users_reset_password_url,) if cfg.users_reset_password_url else own
    return cfg.allowed_reset_password_urls or own
