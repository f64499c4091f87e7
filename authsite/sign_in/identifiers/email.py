"""E-mail addresses: all spellings have one key, and look-alike characters are invalid."""

import re

from authsite.platform.i18n import _
from authsite.platform.settings import mail_domain
from authsite.sign_in.identifiers.identifier import Identifier, InvalidIdentifier, clean_text

MAX_LENGTH = 254  # RFC 5321, section 4.5.3.1.3, less the angle brackets (RFC errata 1690)

_EXAMPLE = _("Enter an e-mail address in the format name@example.com.")
_NOT_ASCII = _("Use an address with Latin letters before the @, without accents.")
_ROUTED = _("Use an address without %, ! and =? before the @.")

# Local parts that a relay may interpret: an encoded word (RFC 2047), which some decode before they
# split the address, and the old routing forms user%host and host!user.
_REINTERPRETED = re.compile(r"=\?|[%!]")


def normalize(text: str, _region: str | None = None) -> Identifier:
    """The address in ``text``: the domain in lower case and ASCII, the local part as typed.

    The key is in lower case: no mail provider gives Anna@ and anna@ to two people. The local part
    must be ASCII before normalization: NFC turns the Kelvin sign into a K, and a mail would go to
    the owner of another address (CVE-2019-19844). For the same reason a relay must not read it as
    another address. Raises `InvalidIdentifier`.
    """
    text = clean_text(text, MAX_LENGTH, _("Enter your e-mail address."))
    local, at, domain = text.rpartition("@")
    if not at:
        raise InvalidIdentifier(_EXAMPLE)
    if _REINTERPRETED.search(local):
        raise InvalidIdentifier(_ROUTED)
    if not local.isascii():
        raise InvalidIdentifier(_NOT_ASCII)
    try:
        display = f"{local}@{mail_domain(domain, local)}"
    except ValueError as error:
        raise InvalidIdentifier(_EXAMPLE) from error
    return Identifier("email", display.lower(), display)
