"""Read login names from the fields of a request, with one `FieldError` for each bad field."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _
from authsite.platform.runtime.lines import NotOneLine, one_line
from authsite.platform.settings import Settings

from .errors import DomainNotAllowed, domains_message
from .identifiers import Identifier, InvalidIdentifier, normalized_key, parse_identifier
from .wording import wording


def read_address(text: str) -> Identifier:
    """The e-mail address in ``text``, whether or not an account has it.

    Raises `ValidationFailed` for a text that is not an e-mail address, such as a username. That
    reveals nothing about accounts, since no account has such an address.
    """
    try:
        return parse_identifier("email", text)
    except InvalidIdentifier as error:
        raise ValidationFailed(details=[FieldError(error.code, "email", error.message)]) from None


def address_errors(cfg: Settings, text: str) -> Sequence[FieldError]:
    """The errors of an address that a user chooses: `read_address`, else `domain_errors`."""
    try:
        read_address(text)
    except ValidationFailed as error:
        return error.details
    return domain_errors(cfg, text)


def domain_errors(cfg: Settings, text: str | None) -> Sequence[FieldError]:
    """The error of an address whose domain is not among `registration-domains`.

    None if `registration` is not ``domains``, and for a text that is not an e-mail address. An
    address is compared as it is stored, with its domain in ASCII and lower case, and as a whole:
    a subdomain is another domain.
    """
    key = normalized_key("email", text or "")
    if not key or cfg.registration != "domains":
        return ()
    if key.rpartition("@")[2] in cfg.registration_domains:
        return ()
    return DomainNotAllowed(cfg.registration_domains).details


def address_hint(cfg: Settings) -> str | None:
    """What a form says about the addresses that it takes; None where it takes every one."""
    return domains_message(cfg.registration_domains) if cfg.registration == "domains" else None


def require_filled(cfg: Settings, name: str | None, password: str | None) -> tuple[str, str]:
    """The fields of a login form. Raises `ValidationFailed` with an error for each empty one."""
    errors = []
    if not name:
        errors.append(FieldError("required", "username", wording(cfg.login_identifiers).missing))
    if not password:
        errors.append(FieldError("required", "password", _("Enter your password.")))
    if not name or not password:
        raise ValidationFailed(details=errors)
    return name, password


def read_identifiers(
    cfg: Settings, texts: Mapping[str, str | None]
) -> tuple[list[Identifier], list[FieldError]]:
    """The identifiers in ``texts`` (kind -> text), and the errors of those that are invalid.

    Ignores an empty text, and a kind that is not enabled, except the e-mail address.
    """
    identifiers, errors = [], []
    for kind in dict.fromkeys(("email", *cfg.login_identifiers)):
        text = texts.get(kind)
        if not text:
            continue
        try:
            identifiers.append(parse_identifier(kind, text, cfg.phone_region))
        except InvalidIdentifier as error:
            errors.append(FieldError(error.code, kind, error.message))
    return identifiers, errors


LONGEST_LINE = 1024  # characters


class ReadLine(NamedTuple):
    """A text as it is stored, and the error that it has."""

    text: str | None
    errors: list[FieldError]


def read_line(field: str, text: str | None) -> ReadLine:
    """`one_line` of the ``text`` in ``field``; of no text, and of one that cannot be seen, None."""
    try:
        line = one_line(text)
    except NotOneLine as error:
        return ReadLine(None, [FieldError("invalid", field, not_one_line(error))])
    if line and len(line) > LONGEST_LINE:  # NFC makes few characters more
        return ReadLine(None, [FieldError("too_long", field, _("This is too long. Shorten it."))])
    return ReadLine(line, [])


def not_one_line(error: NotOneLine) -> str:
    """The message for a person who has typed or pasted such a character."""
    mapping = {"character": error.character, "place": str(error.place)}
    return _("Leave out ${character}, the character at place ${place}.", mapping=mapping)
