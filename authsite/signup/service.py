"""Register a user: validate every field, hash the password, create the user."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, exists
from sqlalchemy.orm import Session

from authsite.oauth.oidc.availability import is_on
from authsite.platform.audit.service import Cause
from authsite.platform.context import Context, Services
from authsite.platform.db.batches import Batch
from authsite.platform.http.bodies import errors_of
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _
from authsite.platform.mail.outbox import Recipient
from authsite.platform.passwords import policy
from authsite.platform.runtime.lines import one_line
from authsite.sign_in.credentials import find_account
from authsite.sign_in.fields import domain_errors, read_identifiers, read_line
from authsite.sign_in.identifiers import Identifier
from authsite.users import service as users
from authsite.users.errors import IdentifierTaken
from authsite.users.groups.labels import GroupMember
from authsite.users.models import User
from authsite.users.service import erase_where
from authsite.verification import service as verification

_ACCEPTED = ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class SignUp:
    """What an unauthenticated caller sends: see `register`."""

    identifiers: Mapping[str, str | None]
    password: str
    name: str | None = None
    page_url: str | None = None
    """The page that the mailed verification link opens; without it no link is mailed."""
    terms_accepted: str | None = None
    """A text such as ``true`` if the terms in setting `terms-url` are accepted."""
    code_id: UUID | None = None
    """The id of the browser's pending login, whose code is in the mail; see `mail_code`."""


def asked_fields(ctx: Context, sent: Mapping[str, str]) -> list[str]:
    """What the registration page asks besides e-mail address and password.

    These are the fields of `registration-fields`, and the identifiers where the e-mail address is
    none. ``sent`` is the form that is shown again: what it has is shown, with its mistakes.
    """
    kinds, fields = ctx.settings.login_identifiers, ctx.settings.registration_fields
    if fields is None:
        fields = ("name",) if is_on(ctx.services) else ()
    wanted = {*fields, *(() if "email" in kinds else kinds)}
    filled = {name for name in ("name", *kinds) if sent.get(name)}
    return [name for name in ("name", "username", "phone") if name in wanted | filled]


class SignedUp(NamedTuple):
    """The user who was created, if one was, and whether the answer may reveal it."""

    user: User | None
    hidden: bool = False


def sign_up(ctx: Context, given: SignUp) -> SignedUp:
    """`register` for an unauthenticated caller; decides what the answer reveals.

    With `terms-url` the caller must accept the terms; the user's row keeps their URL, which is that
    of the request's language, and the time.

    With `prevent-enumeration` the answer hides whether the e-mail address was free; the owner of a
    taken one gets a mail, within the limit ``mail-recipient`` of the address. A taken username or
    phone number is an error in any case, since it is public. Raises what `register` raises, and
    `ValidationFailed` for a page that is not among the configured ones, and with
    `registration = domains` for an address of another domain, which no account can have got by
    registration.
    """
    names = _validate(ctx, given, _further_errors(ctx, given))
    page_url = given.page_url and verification.choose_page(ctx, given.page_url)
    if not ctx.settings.prevent_enumeration:
        hashed = ctx.passwords.hash(given.password)
        return SignedUp(_create_registered(ctx, given, names, hashed, page_url))
    with Session(ctx.database.autocommit) as reading:
        taken = users.find_taken(ctx.settings, reading, names)
    _reject_public(taken)
    # Also for a taken address, so that the time is the same.
    hashed = ctx.passwords.hash(given.password)
    email = next(item for item in names if item.kind == "email")
    if taken:
        if ctx.limits.allows("mail-recipient", email.key):
            verification.notify_owner(ctx, find_account(ctx, email.display, ["email"]))
        return SignedUp(None, hidden=True)
    try:
        user = _create_registered(ctx, given, names, hashed, page_url)
    except IdentifierTaken as error:
        # Another registration took the address after the look-up and has just mailed its link. A
        # second mail could no longer be counted, so racing registrations could flood the owner.
        _reject_public([item.field or "" for item in error.details])
        return SignedUp(None, hidden=True)
    return SignedUp(user, hidden=True)


def sign_up_errors(ctx: Context, given: SignUp) -> Sequence[FieldError]:
    """What `sign_up` finds wrong with the fields that are there, for a refused request."""
    return errors_of(lambda: _validate(ctx, given, _further_errors(ctx, given)))


def invited_errors(ctx: Context, given: SignUp) -> Sequence[FieldError]:
    """What `check_invited` finds wrong with the fields that are there, for a refused request."""
    return errors_of(lambda: _validate(ctx, given, terms_errors(ctx, given.terms_accepted)))


def _further_errors(ctx: Context, given: SignUp) -> Sequence[FieldError]:
    """Of what only a registration by an unauthenticated caller has."""
    return [
        *domain_errors(ctx.settings, given.identifiers.get("email")),
        *terms_errors(ctx, given.terms_accepted),
        *errors_of(lambda: verification.choose_page(ctx, given.page_url)),
    ]


def register(
    ctx: Context,
    identifiers: Mapping[str, str | None],
    password: str,
    name: str | None = None,
    cause: Cause | None = None,
) -> User:
    """Create a user with these identifiers (kind -> text) and this password, as a command does.

    No link is mailed, unless confirmation is required. The address may be of any domain. A kind
    that is not enabled is ignored, except the e-mail address, which every user has. The password is
    hashed before the first write. Raises `ValidationFailed` with one entry for each error,
    `IdentifierTaken`, and `HashCapacityExceeded`.
    """
    names = _validate(ctx, SignUp(identifiers, password, name))
    hashed = ctx.passwords.hash(password)
    user = users.create(ctx, names, hashed, name=one_line(name), cause=cause)
    _mail_link(ctx, user, None)
    return user


def _validate(ctx: Context, given: SignUp, also: Sequence[FieldError] = ()) -> list[Identifier]:
    """The identifiers of a registration whose every field is valid; ``also``: further errors."""
    identifiers, name = given.identifiers, given.name
    names, errors = read_identifiers(ctx.settings, identifiers)
    if not identifiers.get("email"):
        errors.insert(0, FieldError("required", "email", _("Enter your e-mail address.")))
    errors += read_line("name", name).errors
    applicant = policy.Applicant(
        identifiers.get("email") or "", identifiers.get("username"), identifiers.get("phone"), name
    )
    weak = policy.weakness(ctx.settings, ctx.passwords, given.password, applicant)
    errors += [*([weak] if weak else []), *also]
    if errors:
        raise ValidationFailed(details=errors)
    return names


def _create_registered(
    ctx: Context,
    given: SignUp,
    names: Sequence[Identifier],
    password_hash: str,
    page_url: str | None,
) -> User:
    user = users.create(ctx, names, password_hash, name=one_line(given.name), origin="registered")
    _mail_link(ctx, user, page_url, given.code_id)
    return accept_terms(ctx, user)


def _mail_link(ctx: Context, user: User, page_url: str | None, code_id: UUID | None = None) -> None:
    if ctx.settings.confirmation_required:
        page_url = page_url or verification.choose_page(ctx)
    if page_url:
        recipient = Recipient(user.id, user.email)
        verification.mail_link(ctx, recipient, page_url, code_id=code_id)


class Checked(NamedTuple):
    """The login names and the hashed password of a registration without mistakes."""

    names: Sequence[Identifier]
    password_hash: str


def check_invited(ctx: Context, given: SignUp) -> Checked:
    """Check a registration by invitation, and hash the password; this writes nothing.

    The address may be of any domain. Raises `ValidationFailed` with one entry for each error, and
    `HashCapacityExceeded`.
    """
    names = _validate(ctx, given, terms_errors(ctx, given.terms_accepted))
    return Checked(names, ctx.passwords.hash(given.password))


def create_invited(ctx: Context, given: SignUp, checked: Checked) -> User:
    """Create the user, whose address the link of the invitation has proved.

    Raises `IdentifierTaken`.
    """
    user = users.create(
        ctx,
        checked.names,
        checked.password_hash,
        name=one_line(given.name),
        confirmed=True,
        origin="invited",
    )
    return accept_terms(ctx, user)


def terms_errors(ctx: Context, accepted: str | None) -> list[FieldError]:
    """The error of a form that does not accept the terms of `terms-url`."""
    if ctx.settings.terms_url is None or (accepted or "").lower() in _ACCEPTED:
        return []
    message = _("Accept the terms of use to create an account.")
    return [FieldError("required", "terms_accepted", message)]


def accept_terms(ctx: Context, user: User) -> User:
    """Note which terms a new user has accepted, and when; the ``user``."""
    terms_url = ctx.settings.localized("terms_url", ctx.request_info.language)
    if terms_url:
        user.terms_url, user.terms_accepted_at = terms_url, user.created_at
    return user


def _reject_public(taken: Sequence[str]) -> None:
    """Raise `IdentifierTaken` for the taken kinds that are public: all but the e-mail address."""
    public = [kind for kind in taken if kind != "email"]
    if public:
        raise IdentifierTaken(public)


# The end of accounts that someone registered and no one has ever used or confirmed.
#
# Such an account holds an address, and what a stranger wrote beside it: a name, a username, a
# phone number.


def purge(services: Services, connection: Connection, now: datetime) -> Iterator[Batch]:
    """Erase what `purge-unconfirmed` says: registered before that time, neither confirmed nor used.

    Users in a group stay, and all whom an administrator, an import, an invitation or a provider has
    brought.
    """
    span = services.settings.purge_unconfirmed
    if span is None:
        return iter(())
    which = [
        User.created_at <= now - span,
        User.email_verified_at.is_(None),
        User.origin == "registered",
        User.last_sign_in_at.is_(None),
        ~exists().where(GroupMember.user_id == User.id),
    ]
    # No application has got the username of an account that no one has signed in to.
    return erase_where(
        services, connection, which, User.created_at, why="unconfirmed", keep_username=False
    )
