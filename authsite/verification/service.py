"""Proving an address: ask for a link, use it, and change the address."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from authsite.audit.service import record
from authsite.http.source import Source
from authsite.login.identifiers import Identifier, key_of, of_kind
from authsite.mail import outbox
from authsite.settings import Settings
from authsite.users import service as users
from authsite.users.account import Account
from authsite.users.errors import IdentifierTaken
from authsite.users.models import LoginName, User

from .errors import InvalidSignature, LoginNotConfirmed
from .signed_urls import VerifiedLink, address_hash


def must_be_confirmed(cfg: Settings, account: Account) -> None:
    """The login step of Variant B: raises `LoginNotConfirmed` for an unconfirmed user."""
    if cfg.variant == "B" and cfg.require_email_confirmation and not account.confirmed:
        raise LoginNotConfirmed


def page_urls(cfg: Settings, base_url: str) -> tuple[str, ...]:
    """The pages that a verification link may lead to; the first is the default."""
    own = f"{base_url}/email/verify"
    if cfg.variant == "B":
        return (cfg.users_confirm_email_url or own,)
    return cfg.allowed_verify_email_urls or (own,)


def ask(
    db: Session,
    cfg: Settings,
    now: datetime,
    source: Source,
    user_id: UUID | None,
    address: str,
    page_url: str,
) -> None:
    """Put the letter with a link for ``address`` into the outbox.

    ``user_id`` None stands for a stranger: a row that nobody gets keeps the work equal.
    """
    outbox.put(
        db,
        now,
        letter="confirm" if cfg.variant == "B" else "verification",
        user_id=user_id,
        address=address,
        page_url=page_url,
        base_url=source.base_url,
        language=source.language,
        expires_at=now + cfg.verification_expires_in,
    )
    record(db, now, source, "verification.asked", user_id=user_id)


def ask_by_address(
    db: Session,
    cfg: Settings,
    now: datetime,
    source: Source,
    email: str,
    page_url: str,
    *,
    quiet: bool = False,
) -> None:
    """`ask` for whoever has this address, if it still waits for its proof.

    Everyone else, and ``quiet`` (over the limit), gets a row that nobody is sent.
    """
    user = users.by_email(db, key_of("email", email))
    waits = user is not None and user.email_verified_at is None and not quiet
    told = user if waits else None
    user_id, address = (told.id, told.email) if told else (None, outbox.NOBODY)
    ask(db, cfg, now, source, user_id, address, page_url)


def redeem(db: Session, now: datetime, source: Source, link: VerifiedLink) -> bool:
    """Take the address that the link was made for as proved; whether that was news.

    The link of an address change makes it the user's address. Raises `InvalidSignature` when
    the user is gone or has another address by now, and `IdentifierTaken` when somebody else
    took the new one.
    """
    user = db.get(User, link.user_id, with_for_update=True)
    if user is None or user.disabled_at is not None:
        raise InvalidSignature
    if user.pending_email and link.address_hash == address_hash(user.pending_email):
        _change(db, now, source, user, user.pending_email)
        return True
    if link.address_hash != address_hash(user.email):
        raise InvalidSignature
    if user.email_verified_at is not None:
        return False
    users.confirm(db, now, source, user)
    outbox.put(
        db, now, letter="welcome", user_id=user.id, address=user.email,
        base_url=source.base_url, language=source.language,
    )  # fmt: skip
    return True


def ask_for_change(
    db: Session,
    cfg: Settings,
    now: datetime,
    source: Source,
    user_id: UUID,
    email: str,
    page_url: str,
) -> None:
    """Begin a change of address: a link goes to the new one, a notice to the old one.

    The newest wish counts: links of earlier ones die. Raises `InvalidIdentifier`, and
    `IdentifierTaken` unless enumeration is to be prevented: then the owner is told by mail, and
    whoever asks sees all that they would see for a free address.
    """
    wanted = of_kind("email", email)
    user = db.get_one(User, user_id, with_for_update=True)
    owner = db.scalar(select(LoginName.user_id).where(LoginName.key == wanted.key))
    taken = owner not in (None, user_id)
    if taken and not cfg.prevent_enumeration:
        raise IdentifierTaken(["email"])
    user.pending_email = wanted.display
    user.updated_at = now
    record(db, now, source, "email.change_asked", user_id=user_id)
    if taken:
        _tell_owner(db, now, source, owner)
    else:
        ask(db, cfg, now, source, user_id, wanted.display, page_url)
    outbox.put(
        db, now, letter="email_changed", user_id=user_id, address=user.email,
        base_url=source.base_url, language=source.language,
    )  # fmt: skip


def _tell_owner(db: Session, now: datetime, source: Source, owner: UUID | None) -> None:
    user = db.get_one(User, owner)
    outbox.put(
        db, now, letter="already_registered", user_id=user.id, address=user.email,
        base_url=source.base_url, language=source.language,
    )  # fmt: skip


def _change(db: Session, now: datetime, source: Source, user: User, address: str) -> None:
    """Make the pending address the user's own, in one go with its login name."""
    new: Identifier = of_kind("email", address)
    try:
        with db.begin_nested():
            db.execute(
                update(LoginName)
                .where(LoginName.user_id == user.id, LoginName.kind == "email")
                .values(key=new.key)
            )
    except IntegrityError:
        raise IdentifierTaken(["email"]) from None
    user.email, user.pending_email = new.display, None
    user.email_verified_at = user.updated_at = now
    record(db, now, source, "email.changed", user_id=user.id)


def pending_email(db: Session, user_id: UUID) -> str | None:
    """The address that the user asked for and has not proved yet."""
    return db.scalar(select(User.pending_email).where(User.id == user_id))
