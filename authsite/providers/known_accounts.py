"""Read what the decision depends on: the identity, the account with the address, the settings."""

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.runtime import clock
from authsite.platform.settings.sections.providers import Provider
from authsite.sign_in.credentials import Credential, find_credential
from authsite.sign_in.factors.left import has_factor
from authsite.sign_in.fields import domain_errors
from authsite.sign_in.methods.provider.people import is_allowed
from authsite.sign_in.methods.provider.values import ProvidedIdentity
from authsite.users.account import ACCOUNT_COLUMNS, Account
from authsite.users.identities.models import Identity
from authsite.users.models import Origin, User

from .decision import Case, Holder, Step, decide

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
