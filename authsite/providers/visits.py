"""One return that goes on: what was told, what is known of it now, and what its browser wants."""

import uuid
from typing import NamedTuple

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.platform.settings.sections.providers import Provider
from authsite.sign_in.errors import DomainNotAllowed
from authsite.sign_in.fields import read_address
from authsite.sign_in.identifiers import normalized_key
from authsite.sign_in.methods.provider import ProvidedIdentity, is_allowed
from authsite.users import identities
from authsite.users.identities import AlreadyLinked, Identity, NewIdentity

from . import mails, waiting
from .entering import Browser
from .known_accounts import Found, Step, look
from .linking import service as linking_mails
from .linking.service import Changed
from .waiting import Waiting


class Visit(NamedTuple):
    """``by_mail``: the form or page has the token of a mailed link, which proves the address.

    ``remembered``: as of `Target`.
    """

    provider: Provider
    waiting: Waiting
    found: Found
    by_mail: bool
    remembered: str | None = None

    @property
    def address(self) -> str:
        """The address, where the step has one."""
        if self.found.address is None:
            raise Changed
        return self.found.address

    def browser(self, former_key: str | None) -> Browser:
        """What the browser wants, as it began."""
        waits = self.waiting
        return Browser(former_key, waits.remember, waits.next, self.remembered, waits.prompted)


def open_visit(
    ctx: Context, provider: Provider, browser: str | None, key: str, token: str | None = None
) -> Visit:
    """What waits under ``key``, or with the ``token`` of a mailed link, in this browser.

    Read outside of the transaction. Raises `ProviderRefused`.
    """
    if token:
        key = waiting.read_link(ctx, provider, token)
    found = waiting.find(ctx, provider, browser, key)
    by_mail = bool(token)
    decided = look(ctx, provider, found.provided, found.address, by_mail=by_mail)
    return Visit(provider, found, decided, by_mail)


def require_step(visit: Visit, *steps: Step) -> None:
    """Raises `Changed` unless one of ``steps`` is the next one."""
    if visit.found.step not in steps:
        raise Changed


def mail_link(ctx: Context, provider: Provider, waits: Waiting, address: str) -> Waiting:
    """Mail a link that proves ``address``, and keep what waits for it, under a new key.

    Over the limit ``mail-recipient`` of the address no mail goes out; the answer does not show it.
    Call it before the request has written anything.
    """
    allowed = ctx.limits.allows("mail-recipient", normalized_key("email", address))
    mailed = waits._replace(id=uuid.uuid4(), address=address, mailed_at=clock.now())
    waiting.keep(ctx, mailed)
    mails.send_link(ctx, provider, address if allowed else None, mailed)
    return mailed


def read_entered(visit: Visit, text: str) -> str:
    """The address that a person enters, whose provider told none that is proved.

    `domains` are asked before a mail goes out, whatever address the provider told: this one takes
    its place. Google's `hd` does not depend on an address. Raises `ValidationFailed`.
    """
    address = read_address(text).display
    if visit.provider.preset != "google" and not is_allowed(visit.provider, address):
        raise DomainNotAllowed(visit.provider.domains)
    return address


def join(ctx: Context, visit: Visit, user_id: uuid.UUID) -> Identity:
    """Link the identity, whose address is proved, to the user, and use up what waits.

    The user gets a notice. Raises `Changed` if another request has linked it.
    """
    waiting.spend(ctx, visit.provider, visit.waiting)
    provided = visit.waiting.provided
    new = NewIdentity(
        provided.provider, provided.issuer, provided.subject, visit.address, trusted=True
    )
    try:
        identity = identities.link(ctx, user_id, new)
    except AlreadyLinked:
        raise Changed from None
    record(ctx, Event.PROVIDER_LINKED, user_id=user_id, details=identities.about(provided))
    linking_mails.send_new(ctx, Recipient(user_id, visit.address), identity.id)
    return identity


def record_address_asked(ctx: Context, found: Found, provided: ProvidedIdentity) -> None:
    """Record why the person has to prove an address, for the operator."""
    details = {**identities.about(provided), "reason": provided.doubt, **provided.scopes}
    user_id = found.known.account.id if found.known else None
    record(ctx, Event.PROVIDER_ADDRESS_ASKED, user_id=user_id, details=details)


def required(field: str, message: str) -> ValidationFailed:
    """The error of an empty field."""
    return ValidationFailed(details=[FieldError("required", field, message)])
