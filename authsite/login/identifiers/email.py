"""E-mail addresses: one spelling, one key, and never a look-alike of somebody else's."""

import unicodedata

from authsite.login.identifiers.identifier import Identifier, InvalidIdentifier, trimmed
from authsite.texts import text as _

MAX_LENGTH = 254  # RFC 5321, section 4.5.3.1.3, less the angle brackets (RFC errata 1690)

_EXAMPLE = _("Enter one e-mail address, such as name@example.com.")

# Names that work inside a house or on one machine. email-validator knows only worldwide ones.
_HOUSE_DOMAINS = (".localhost", ".local", ".test")


def normalise(text: str, _region: str | None = None) -> Identifier:
    """The address in ``text``: its domain lower-cased and in ASCII, its local part as typed.

    The key is all lower-case: no mail provider gives Anna@ and anna@ to two people. The local part
    must be ASCII before anything is normalised, for NFC turns the Kelvin sign into a K, and the
    mail for one address would go to the owner of another (CVE-2019-19844). Raises
    ``InvalidIdentifier``.
    """
    text = trimmed(text, MAX_LENGTH, _("Enter an e-mail address."))
    local, at, domain = text.rpartition("@")
    if not at or not local.isascii():
        raise InvalidIdentifier(_EXAMPLE)
    domain = _ascii_domain(local, unicodedata.normalize("NFC", domain))
    display = f"{local}@{domain}"
    return Identifier("email", display.lower(), display)


def _ascii_domain(local: str, domain: str) -> str:
    """The domain as it goes over the wire, after the whole address was found to be valid."""
    # Loading it takes 20 ms, which a process that only guards never needs.
    from email_validator import EmailNotValidError, validate_email

    # Behind a worldwide suffix a house's own name is judged like any other.
    lowered = domain.lower()
    house = lowered == "localhost" or lowered.endswith(_HOUSE_DOMAINS)
    suffix = ".com" if house else ""
    try:
        valid = validate_email(
            f"{local}@{domain}{suffix}",
            check_deliverability=False,
            strict=True,
            # In so many words: the defaults are globals that an application around us may change.
            allow_quoted_local=False,
            allow_display_name=False,
            allow_domain_literal=False,
            allow_empty_local=False,
        )
    except EmailNotValidError as error:
        raise InvalidIdentifier(_EXAMPLE) from error
    return str(valid.ascii_domain).removesuffix(suffix)
