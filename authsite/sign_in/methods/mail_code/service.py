"""Codes by mail: begin a sign-in with one, send it, check it.

Name, limits and cost are the same for a name that no user has: there is a row, and a row of the
outbox without a recipient.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import select

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, pseudonym, record
from authsite.platform.context import Context
from authsite.platform.db import after_commit
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _
from authsite.platform.mail import outbox
from authsite.platform.mail.outbox import NO_RECIPIENT, Recipient
from authsite.platform.rate_limit import limit_subject
from authsite.platform.rate_limit.recognized import Owner
from authsite.platform.runtime import clock
from authsite.sign_in import gate, pending
from authsite.sign_in.credentials import find_credential_of, owner_of, owner_of_user
from authsite.sign_in.factors.policy import MAIL_CODE, SoFar, find_missing
from authsite.sign_in.factors.state import FactorState
from authsite.sign_in.identifiers import candidates, normalized_key, rate_limit_key
from authsite.sign_in.method import Method, Pending, Target, Verified, Words, Wrong
from authsite.sign_in.pending import MAX_FAILURES, PendingLogin
from authsite.users.account import EMAIL, Account, account_of
from authsite.users.models import User, user_of

from . import codes

NAME = MAIL_CODE


def verify(
    ctx: Context, _target: Target, given: Mapping[str, str], found: Pending | None
) -> Verified | Wrong | None:
    """The user of the pending login whose code is in ``given["code"]``, or `Wrong`.

    The code confirms the address, so the account conditions see a confirmed one. Raises `Denied`.
    """
    if found is None:
        return None
    right = codes.is_code(ctx.services.keys, found.id, given.get("code", ""))
    if not right or found.account is None:
        return Wrong()
    account = found.account.confirmed_at(clock.now())
    return gate.admit(ctx, account, EMAIL, found.recognition_version, factors=found.factors)


WORDS = Words(
    title=_("Check your e-mail"),
    way=_("E-mail me a code"),
    lead=_("We sent you a code. It works for 10 minutes, and only in this browser."),
    label=_("Code from the e-mail"),
    wrong=_("This code is not right, or it has expired. Enter the one from the latest e-mail."),
    missing=_("Enter the code from the e-mail."),
)
METHOD = Method(
    NAME,
    EMAIL,
    offered=lambda ctx, account: account is None and ctx.settings.email_sign_in,
    verify=verify,
    page="authsite.login.factor",
    words=WORDS,
)


def begin(ctx: Context, typed: str, target: Target) -> Pending:
    """Begin a sign-in by mail with a login name, and send the code to the stored address.

    For an unknown or disabled user, and over the limits, the pending login is of no user and no
    mail goes out: the answer and its cost are the same, and no code is right. Over the limit of the
    client address nothing is written, and no row has the key. Call it before the request has
    written anything.
    """
    names = candidates(typed, ctx.settings.login_identifiers, ctx.settings.phone_region)
    name = rate_limit_key(typed, names)
    credential = find_credential_of(ctx, names)
    enabled = credential if credential and not credential.disabled_at else None
    owner, account = owner_of(enabled, name), enabled.account if enabled else None
    recognition = ctx.limits.recognition(owner)
    within = _address_allows(ctx)
    if not within or not _may_sign_in(ctx, account, pseudonym(name), owner):
        enabled = account = None
    begun = Pending(
        key=pending.new_key(),
        account=account,
        recognition_version=owner.version,
        amr=(),
        methods=(NAME,),
        target=target,
        factors=enabled.factors if enabled else FactorState(),
        recognized=recognition.since if account else None,
        id=uuid4(),
        name_hash=pseudonym(name),
    )
    if within:
        pending.store(ctx, begun)
        put(ctx, begun.id, account)
    return begun


def registered(ctx: Context, id: UUID, account: Account | None, typed: str, target: Target) -> str:
    """The key of a pending login for a browser that has just registered ``account``.

    Its mail, with the ``id``, has been enqueued. ``account``: None where the address ``typed`` was
    taken: such a pending login is of no user.
    """
    begun = Pending(
        key=pending.new_key(),
        account=account,
        recognition_version=0,
        amr=(),
        methods=(NAME,),
        target=target,
        id=id,
        name_hash=pseudonym(normalized_key("email", typed)),
        registered=True,
    )
    pending.store(ctx, begun)
    return begun.key


def registered_here(ctx: Context, key: str | None) -> UUID | None:
    """The id of the pending login of a browser that has just registered, of a user or not."""
    here = pending.find(ctx, key) if key else None
    return here.id if here and here.registered else None


def send(ctx: Context, found: Pending, *, written: bool = False) -> None:
    """Mail the code of a pending login, again if it was mailed before: it is the same one.

    Over the limits no mail goes out; the answer does not show it. Over that of the client address
    nothing is written. Call it before the request has written anything; ``written``: it has, and
    the mail is counted when it has been committed.
    """
    account, name = found.account, found.name_hash or ""
    owner = owner_of_user(account.id, found.recognition_version) if account else Owner(name)
    if not written and not _address_allows(ctx):
        return
    if found.amr and account is not None:
        allowed = may_mail_user(ctx, account, owner, written=written)
    else:
        allowed = _may_sign_in(ctx, account, name, owner)
    put(ctx, found.id, account if allowed else None)


def wait(ctx: Context, found: Pending, *, written: bool = False) -> Pending:
    """Store a pending login of a page, and mail its code if that is what is missing.

    ``written``: as of `send`.
    """
    if NAME in found.methods:
        send(ctx, found, written=written)
    pending.store(ctx, found)
    return found


def _address_allows(ctx: Context) -> bool:
    """Count a request for a code at the client address, also one that sends no mail."""
    return ctx.limits.allows("email-code-address", ctx.limits.address)


def _may_sign_in(ctx: Context, account: Account | None, name: str, owner: Owner) -> bool:
    """Count a mail with a code that nothing was proved for; whether it may go out.

    What sends no mail uses up nothing of the owner's limit.
    """
    known = ctx.limits.recognized(owner)
    key = normalized_key("email", account.email) if account else f"no mail {name}"
    return ctx.limits.allows("email-sign-in", key, *known)


def may_mail_user(
    ctx: Context, account: Account, owner: Owner, *, fresh: bool = False, written: bool = False
) -> bool:
    """Count a mail to a user who is signed in, or has given the password; whether it may go out.

    A recognized browser or address of the ``owner`` has a separate limit, and so have the ``fresh``
    sign-ins of the user together: who knows the password alone, or has stolen an old session, must
    not use up the mails that the owner needs.
    """

    def allows() -> bool:
        apart = ctx.limits.recognized(owner) or (("fresh",) if fresh else ())
        by_address = _address_allows(ctx)
        return by_address and ctx.limits.allows("email-code", limit_subject(account.id), *apart)

    def count() -> None:
        allows()

    if written:
        after_commit(ctx.db, count)
        return True
    return allows()


def put(ctx: Context, row_id: UUID, account: Account | None, kind: str = "sign_in_code") -> None:
    """Enqueue the mail; its builder computes the code from the id of the row."""
    recipient = Recipient(account.id, account.email) if account else NO_RECIPIENT
    mail = outbox.NewMail(
        kind,
        recipient,
        about_id=row_id,
        expires_at=clock.now() + pending.LIFETIME,
        names_device=True,
    )
    outbox.put(ctx, mail)


# Errors of a form that takes a code by mail.


class WrongCode(ValidationFailed):
    """The code is wrong."""

    def __init__(self) -> None:
        message = _("This code is wrong. Enter the one from the latest e-mail: eight letters.")
        super().__init__(details=[FieldError("invalid_code", "code", message)])


class CodeEnded(ValidationFailed):
    """The code was used, tried too often or requested in another browser, or is too old."""

    def __init__(self) -> None:
        message = _("The code no longer works here. Open the link in the e-mail instead.")
        super().__init__(details=[FieldError("expired", "code", message)])


# The mailed codes of a user that still count, for an operator whose mails do not arrive.


class WaitingCode(NamedTuple):
    """A code, when and where it was asked for, and whether for a change in a sign-in."""

    code: str
    of_session: bool
    began_at: datetime
    expires_at: datetime
    address: str | None
    agent: str | None


def reveal(ctx: Context, user: User, cause: Cause) -> list[WaitingCode]:
    """The codes of sign-ins that wait for one, and of changes of a signed-in user, newest first.

    The codes are those of the mails, sent or not. A person who has one and the browser signs in as
    the user: so it is recorded, unless there is none.
    """
    query = (
        select(PendingLogin)
        .join(User, user_of(PendingLogin))
        .where(
            PendingLogin.user_id == user.id,
            PendingLogin.expires_at > clock.now(),
            PendingLogin.failures < MAX_FAILURES,
        )
        .order_by(PendingLogin.created_at.desc(), PendingLogin.id)
    )
    found = [
        WaitingCode(
            codes.code_of(ctx.services.keys, row.id),
            row.session_id is not None,
            row.created_at,
            row.expires_at,
            row.address,
            row.agent,
        )
        for row in ctx.db.scalars(query)
        if row.session_id is not None or _waits(ctx, user, row)
    ]
    if found:
        details = cause.details(codes=str(len(found)))
        record(ctx, Event.LOGIN_CODE_SHOWN, user_id=user.id, details=details)
    return found


def _waits(ctx: Context, user: User, row: PendingLogin) -> bool:
    """Whether the sign-in goes on with a mailed code; one with another factor does not."""
    if row.factor_version != user.factor_version:
        return False
    factors = FactorState(user.second_factor_at, user.factor_version)
    so_far = SoFar(tuple(row.amr.split()), factors, row.recognized, row.unrecognized)
    missing = find_missing(ctx, account_of(user), so_far)
    return missing is not None and NAME in missing.methods
