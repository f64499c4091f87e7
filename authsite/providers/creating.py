"""Create a user for a new identity, whose address is proved."""

from typing import NamedTuple

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.http.errors import ValidationFailed
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime.lines import one_line
from authsite.sign_in.fields import read_identifiers, read_line
from authsite.sign_in.identifiers import Identifier
from authsite.sign_in.method import Pending
from authsite.sign_in.sessions.service import BegunSession
from authsite.signup.service import accept_terms, terms_errors
from authsite.users import identities
from authsite.users import service as users
from authsite.users.errors import SignInEnded
from authsite.users.models import User
from authsite.users.service import erase

from . import mails
from .entering import enter_new
from .known_accounts import Step, may_start_afresh
from .linking.service import Changed
from .visits import Visit, join, require_step


class NewUser(NamedTuple):
    """What the form asks; see `signup.service.asked_fields`."""

    name: str | None = None
    username: str | None = None
    phone: str | None = None
    terms_accepted: str | None = None


def create(
    ctx: Context, visit: Visit, given: NewUser, former_key: str | None, *, afresh: bool = False
) -> BegunSession | Pending:
    """Create the user, confirmed and without a password, link the identity, and sign in.

    ``afresh``: instead of an account that has never confirmed the address, which is erased; the new
    user gets a notice. Raises `ValidationFailed` with an error for each wrong field,
    `IdentifierTaken`, `ProviderRefused`, and `Changed`, also where the account may not be erased.
    """
    require_step(visit, Step.CLAIM if afresh else Step.CREATE)
    names = _read(ctx, visit, given)
    if afresh:
        _erase_holder(ctx, visit)
    user = users.create(
        ctx, names, None, name=one_line(given.name), confirmed=True, origin="provider"
    )
    accept_terms(ctx, user)
    identity = join(ctx, visit, user.id)
    provided = visit.waiting.provided
    if afresh:
        details = {**identities.about(provided), "way": "afresh"}
        record(ctx, Event.PROVIDER_CLAIMED, user_id=user.id, details=details)
        mails.send_started_afresh(ctx, Recipient(user.id, user.email))
    return enter_new(ctx, user, identity, provided, visit.browser(former_key))


def _read(ctx: Context, visit: Visit, given: NewUser) -> list[Identifier]:
    """The login names of the form."""
    texts = {"email": visit.address, "username": given.username, "phone": given.phone}
    names, errors = read_identifiers(ctx.settings, texts)
    errors += [*read_line("name", given.name).errors, *terms_errors(ctx, given.terms_accepted)]
    if errors:
        raise ValidationFailed(details=errors)
    return names


def _erase_holder(ctx: Context, visit: Visit) -> None:
    """Erase the account that holds the address, as its user would."""
    holder = visit.found.holder
    if holder is None or not may_start_afresh(ctx, visit.provider, holder):
        raise Changed
    account = holder.account
    row = ctx.db.get(User, account.id, with_for_update=True)
    if row is None or row.email_verified_at is not None or row.labels is not None:
        raise Changed
    ctx.db.expunge(row)
    try:
        erase(ctx, account.id, account.epoch, why="started afresh by the owner of the address")
    except SignInEnded:
        raise Changed from None
