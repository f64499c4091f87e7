"""Read what the decision depends on: the identity, the account with the address, the settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select
from structlog import get_logger

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import pseudonym, record_apart
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.runtime import clock
from authsite.platform.settings.sections.providers import Provider
from authsite.sign_in.credentials import Credential, find_credential
from authsite.sign_in.factors.service import has_factor
from authsite.sign_in.fields import domain_errors
from authsite.sign_in.methods.provider import ProviderRefused
from authsite.sign_in.methods.provider.people import is_allowed
from authsite.sign_in.methods.provider.values import ProvidedIdentity
from authsite.users.account import ACCOUNT_COLUMNS, Account
from authsite.users.identities import Identity
from authsite.users.models import Origin, User

# Whose account is it? The decision at every return from a provider, as one function.
#
# An identity is known, or it is new; the account with the same e-mail address says nothing about
# whose it is until the address is proved, and even then the account may have been registered by a
# stranger, who knows its password. So an account that was there is never joined silently.


class Holder(Enum):
    """Who has the e-mail address here."""

    NONE = "no account"
    CONFIRMED = "an account that has confirmed it"
    UNCONFIRMED = "an account that has never confirmed it: anyone may have registered it"


class Step(Enum):
    """What happens next."""

    NOT_ALLOWED = "refused: the tenant or domain is not among those of the setting"
    SIGN_IN = "the user of the identity signs in"
    ASK_ADDRESS = "a form asks for the e-mail address"
    PROVE_ADDRESS = "a mailed link has to prove the address; until then nothing is made"
    CREATE = "a form creates the user"
    CLOSED = "refused: no new user may register with this identity"
    CONNECT = "the owner of the account proves it, and the identity is linked"
    CONNECT_LATER = "a page says how to link the identity from the account page"
    CLAIM = "it is mine, or start afresh"


class Case(NamedTuple):
    """What the decision depends on.

    ``allowed``: whether tenant and domain are among those of the setting; None if that depends on
    an address that is not known yet. ``vouched``: whether that was said now, of a verified address:
    who left a company has the identity still, and not its mailbox. ``proved``: whether ``address``
    is proved, by a provider that is trusted or by a mailed link. ``may_register``: whether a new
    user may have the address. ``asks``: the setting `link` is ``ask``.
    """

    known: bool
    allowed: bool | None
    vouched: bool
    address: str | None
    proved: bool
    holder: Holder
    may_register: bool
    asks: bool


def decide(case: Case) -> Step:
    """The next step of a sign-in with a provider; the conditions are asked in this order."""
    if case.allowed is False or (case.known and not case.allowed):
        return Step.NOT_ALLOWED
    if case.known and not case.vouched:
        return Step.PROVE_ADDRESS if case.address else Step.NOT_ALLOWED
    if case.known:
        return Step.SIGN_IN
    if case.address is None:
        return Step.ASK_ADDRESS
    if not case.proved:
        return Step.PROVE_ADDRESS
    if case.holder is Holder.NONE:
        return Step.CREATE if case.may_register else Step.CLOSED
    if case.holder is Holder.UNCONFIRMED:
        return Step.CLAIM
    return Step.CONNECT if case.asks else Step.CONNECT_LATER


START_AFRESH_WITHIN = timedelta(days=30)  # since the account was registered


class Known(NamedTuple):
    """A known identity, and its user."""

    identity_id: UUID
    email: str | None
    trusted: bool
    disabled_at: datetime | None
    recognition_version: int
    account: Account


KNOWN = PreparedQuery(
    select(
        Identity.id.label("identity_id"),
        Identity.email,
        Identity.trusted,
        User.disabled_at,
        User.recognition_version,
        *ACCOUNT_COLUMNS,
    )
    .join(User, User.id == Identity.user_id)
    .where(Identity.issuer == bindparam("issuer"), Identity.subject == bindparam("subject")),
    Known,
)


class _Origin(NamedTuple):
    origin: Origin


_ORIGIN = PreparedQuery(select(User.origin).where(User.id == bindparam("user_id")), _Origin)


class Found(NamedTuple):
    """The next step, and what it is about: the user of the identity, the account with the address.

    ``address``: the one that was asked for the step. Until it is proved, ``holder`` is None: no
    page and no form may depend on the account that has it.
    """

    step: Step
    known: Known | None
    holder: Credential | None
    address: str | None


def look(
    ctx: Context,
    provider: Provider,
    provided: ProvidedIdentity,
    address: str | None = None,
    *,
    by_mail: bool = False,
) -> Found:
    """What happens next with the identity that was told; read outside of the transaction.

    ``address``: the one that the person has entered, instead of the one that was told;
    ``by_mail``: a mailed link has proved it.
    """
    known = KNOWN.one(ctx.database, issuer=provided.issuer, subject=provided.subject)
    address = address or provided.email or _last_proved(provider, provided, known)
    proved = by_mail or (provided.trusted and address == provided.email)
    read = address if proved and not known else None
    holder = find_credential(ctx, read, ["email"]) if read else None
    case = Case(
        known=known is not None,
        allowed=_allowed(provider, provided, known, address),
        vouched=provided.vouched or by_mail,
        address=address,
        proved=proved,
        holder=_holder(holder),
        may_register=may_register(ctx, provider, address),
        asks=provider.link == "ask",
    )
    return Found(decide(case), known, holder, address)


def may_register(ctx: Context, provider: Provider, address: str | None) -> bool:
    """Whether a new user may come from this provider, with this address."""
    cfg = ctx.settings
    return provider.create and cfg.registration_open and not domain_errors(cfg, address)


def may_start_afresh(ctx: Context, provider: Provider, holder: Credential) -> bool:
    """Whether the account of a never confirmed address may be erased for a new one.

    Only a young one that was registered here, and has neither group nor second factor: an
    administrator's choice stays, and so does an account that its user has protected.
    """
    account = holder.account
    origin = _ORIGIN.one(ctx.database, user_id=account.id)
    return (
        may_register(ctx, provider, account.email)
        and holder.disabled_at is None
        and not account.confirmed
        and account.created_at > clock.now() - START_AFRESH_WITHIN
        and origin is not None
        and origin.origin == "registered"
        and account.labels is None
        and not has_factor(ctx, account.id)
    )


def _last_proved(provider: Provider, provided: ProvidedIdentity, known: Known | None) -> str | None:
    """The address that a mail must prove again, where the provider told none; None if none can be.

    That it was proved once says nothing about today: see `Case`.
    """
    if known is None or provided.vouched or not known.trusted or known.email is None:
        return None
    return known.email if is_allowed(provider, known.email) else None


def _allowed(
    provider: Provider, provided: ProvidedIdentity, known: Known | None, address: str | None
) -> bool | None:
    """Whether `domains` allow what was told, and the address to prove where that is asked for."""
    if provided.allowed is not None and (known is None or provided.vouched or address):
        return provided.allowed
    return None if address is None else is_allowed(provider, address)


def _holder(found: Credential | None) -> Holder:
    if found is None:
        return Holder.NONE
    return Holder.CONFIRMED if found.account.confirmed else Holder.UNCONFIRMED


# Record why a way to a provider was refused, for the operator.


log = get_logger("authsite.providers")


@contextmanager
def recording_denials(ctx: Context, *uncounted: str) -> Iterator[None]:
    """Record a `ProviderRefused` that the block raises, while the request holds no lock.

    ``uncounted``: whose refusals no limit counts, such as an address; once an hour then.
    """
    try:
        yield
    except ProviderRefused as error:
        about = {"provider": error.provider.name, "reason": str(error.failure), **error.facts}
        log.warning("provider_refused", **about)
        if uncounted and not ctx.limits.once_an_hour("provider refused", *uncounted):
            raise
        subject = {"subject": pseudonym(error.subject)} if error.subject else {}
        record_apart(ctx, Event.PROVIDER_REFUSED, details={**about, **subject})
        raise
