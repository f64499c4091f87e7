"""What a client may say about itself that no administrator has registered."""

import unicodedata

from authsite.oauth.errors import InvalidValue
from authsite.oauth.models import DYNAMIC
from authsite.platform.i18n import _
from authsite.platform.runtime.lines import INVISIBLE, JOINERS, NotOneLine, one_line
from authsite.platform.settings import Settings
from authsite.platform.settings.values import OIDC_SCOPES

from . import redirect_uris
from .service import MAX_NAME, MAX_SCOPE

LINKS = ("client_uri", "policy_uri", "tos_uri")
"""The links to pages of the client, by the names of RFC 7591, section 2."""

_MARKS = 4  # more on one letter cover the lines above and below


def is_name(text: str) -> bool:
    """Whether users can be shown the text as a name: one line that can be seen, and no more.

    Without control characters, and without marks that are piled up.
    """
    try:
        as_stored = one_line(text)
    except NotOneLine:
        return False
    hidden = INVISIBLE.search(text) or any(map(_is_format, text))
    if as_stored != text or len(text) > MAX_NAME or hidden:
        return False
    kinds = "".join(unicodedata.category(each)[0] for each in text)  # such as L for a letter
    return not {*"LNPS"}.isdisjoint(kinds) and "M" * (_MARKS + 1) not in kinds


def _is_format(character: str) -> bool:
    """Whether it is a format character, which cannot be seen, or one that is not assigned."""
    return character not in JOINERS and unicodedata.category(character) in ("Cf", "Cn")


def is_site(settings: Settings, text: str) -> bool:
    """Whether the text is the name of this site, as a person reads it.

    Compared by NFKC and without case, marks and blanks: who asks must not seem to be the site.
    """
    return _read(text) == _read(settings.site_name)


def _read(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    letters = "".join(each for each in parts if unicodedata.category(each)[0] not in "MZC")
    return unicodedata.normalize("NFKC", letters).casefold()


def link(uri: str | None) -> str | None:
    """A link to a page of the client; None for none. Raises ValueError, with what to do."""
    if not uri:
        return None
    if not uri.lower().startswith("https://"):
        raise InvalidValue(_("give a URL that begins with https: ${uri}", mapping={"uri": uri}))
    return redirect_uris.web_uri(uri)


def scope_of(settings: Settings, asked: str | None) -> str:
    """What such a client may have of the scopes that it names; of none, all that it may have.

    Others are left out. It may ask for the scopes of OpenID Connect in any case.
    """
    allowed = settings.client_registration_scopes
    names = allowed if asked is None else dict.fromkeys(asked.split())
    allowed_names = [each for each in names if each in allowed or each in OIDC_SCOPES]
    while len(" ".join(allowed_names)) > MAX_SCOPE:
        allowed_names.pop()
    return " ".join(allowed_names)


def still_allowed(settings: Settings, type: str, scope: str) -> str:
    """What such a client, for which ``scope`` was registered, may have today.

    One that registers itself may ask for more than it has named: clients of MCP name what their
    first request lacks (the ``scope`` of its challenge), and come back for more with the same
    ``client_id`` when a later one gets ``insufficient_scope``.
    """
    if type == DYNAMIC:
        return " ".join(settings.client_registration_scopes)
    return limited(settings, scope)


def limited(settings: Settings, scope: str) -> str:
    """What of ``scope`` such a client may have today, whatever was granted before."""
    allowed = {*settings.client_registration_scopes, *OIDC_SCOPES}
    return " ".join(each for each in scope.split() if each in allowed)
