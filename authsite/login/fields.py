"""Read login names from the fields of a request, with one `FieldError` for each bad field."""

from collections.abc import Mapping, Sequence

from authsite.http.errors import FieldError, ValidationFailed
from authsite.i18n import _
from authsite.settings import Settings

from .identifiers import Identifier, InvalidIdentifier, parse_identifier
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


def address_errors(text: str) -> Sequence[FieldError]:
    """The errors of `read_address`; none if ``text`` is an e-mail address."""
    try:
        read_address(text)
    except ValidationFailed as error:
        return error.details
    return ()


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


def check_line(field: str, text: str | None) -> list[FieldError]:
    """The error of ``field`` if ``text`` contains a line break or another control character."""
    if text is None or text.isprintable():
        return []
    return [FieldError("invalid", field, _("Leave line breaks and control characters out."))]
