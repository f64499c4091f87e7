"""Registering a user: check every field, hash, create."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy.orm import Session

from authsite.http.errors import FieldError, ValidationFailed
from authsite.http.source import Source
from authsite.login.identifiers import Identifier, InvalidIdentifier, key_of, of_kind
from authsite.mail import outbox
from authsite.settings import Settings
from authsite.texts import text as _
from authsite.users import service as users
from authsite.users.models import User
from authsite.users.passwords import Passwords, strength
from authsite.verification import service as verification


def register(
    db: Session,
    cfg: Settings,
    passwords: Passwords,
    now: datetime,
    source: Source,
    identifiers: Mapping[str, str | None],
    password: str,
    name: str | None = None,
    page_url: str | None = None,
) -> User:
    """A new user with these identifiers (kind -> text) and this password.

    ``page_url``: where the verification link that is mailed leads; without it none is mailed,
    unless Variant B requires confirmation. Raises `ValidationFailed` with one entry for each
    mistake, `IdentifierTaken`, and `HashCapacityExceeded`. A kind that is not enabled is ignored,
    save the e-mail address, which every user has. The password is hashed before the first write.
    """
    names, mistakes = identifiers_of(cfg, identifiers)
    mistakes += text_mistakes("name", name)
    weak = strength.problem(
        password, cfg.password_min_length, context_words(cfg, identifiers, name)
    )
    if weak:
        mistakes.append(FieldError(weak.code, "password", weak.message))
    if mistakes:
        raise ValidationFailed(details=mistakes)
    user = users.create(db, now, source, names, passwords.hash(password), name=name or None)
    if cfg.variant == "B" and cfg.require_email_confirmation:
        page_url = verification.page_urls(cfg, source.base_url)[0]
    if page_url:
        verification.ask(db, cfg, now, source, user.id, user.email, page_url)
    return user


def tell_owner(db: Session, now: datetime, source: Source, email: str) -> None:
    """Where enumeration is prevented: tell the owner of a taken address that somebody tried."""
    owner = users.by_email(db, key_of("email", email))
    outbox.put(
        db, now, letter="already_registered",
        user_id=owner.id if owner else None, address=owner.email if owner else outbox.NOBODY,
        base_url=source.base_url, language=source.language,
    )  # fmt: skip


def context_words(
    cfg: Settings, identifiers: Mapping[str, str | None], name: str | None
) -> list[str]:
    """What a password must not be built from: the site's and the user's own words."""
    words = [cfg.site_name, cfg.base_url or "", name or "", *identifiers.values()]
    return [word for word in words if word]


def identifiers_of(
    cfg: Settings, identifiers: Mapping[str, str | None]
) -> tuple[list[Identifier], list[FieldError]]:
    """The identifiers (kind -> text) of enabled kinds, and what is wrong with the others."""
    names, mistakes = [], []
    for kind in dict.fromkeys(("email", *cfg.login_identifiers)):
        text = identifiers.get(kind)
        if not text:
            continue
        try:
            names.append(of_kind(kind, text, cfg.phone_region))
        except InvalidIdentifier as error:
            mistakes.append(FieldError(error.code, kind, error.message))
    return names, mistakes


def text_mistakes(field: str, text: str | None) -> list[FieldError]:
    """What is wrong with a line of text, if anything."""
    if text is None or text.isprintable():
        return []
    return [FieldError("invalid", field, _("Leave line breaks and control characters out."))]
