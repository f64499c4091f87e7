"""URLs that are the ``client_id`` of a client: a document there describes it.

OAuth Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document), section 3. Two
URLs are the same if their texts are (RFC 3986, section 6.2.1).
"""

import re
from urllib.parse import unquote, urlsplit

from authsite.oauth.errors import InvalidValue
from authsite.oauth.models import SERVER
from authsite.platform.i18n import _
from authsite.platform.settings import Settings
from authsite.platform.settings.agent_values import ALL_HOSTS

from . import redirect_uris

MAX_URL = 1024  # characters: no longer one reaches the token endpoint
_BEGIN = re.compile(r"https://[^/?#A-Z]+/")


def is_url(client_id: str) -> bool:
    """Whether the text is meant as a URL: no other id of a client has these characters."""
    return "://" in client_id


def is_on(settings: Settings) -> bool:
    """Whether a document can describe a client."""
    return bool(settings.client_id_documents)


def check(url: str) -> None:
    """Raise ValueError, with what to do, unless this URL can be the id of a client."""
    if len(url) > MAX_URL:
        raise InvalidValue(
            _("the URL must have at most ${number} characters", mapping={"number": str(MAX_URL)})
        )
    if not url.lower().startswith("https://"):
        raise InvalidValue(_("the URL must begin with https://"))
    redirect_uris.check(url, SERVER)
    if not _BEGIN.match(url):
        raise InvalidValue(
            _(
                "write scheme and host in lower case, and after the host a path, such as"
                " https://app.example.com/client.json"
            )
        )
    if not {".", ".."}.isdisjoint(unquote(urlsplit(url).path).split("/")):
        raise InvalidValue(_("leave out the segments . and .. of the path"))


def is_allowed(settings: Settings, url: str) -> bool:
    """Whether the setting `client-id-documents` has the host of a URL that `check` accepts."""
    hosts = settings.client_id_documents
    return ALL_HOSTS in hosts or host_of(url) in hosts


def host_of(url: str) -> str:
    """The host of a URL that `check` accepts, without the port."""
    return urlsplit(url).hostname or ""


def usable(settings: Settings | None, client_id: str) -> bool:
    """Whether the text is a URL that can be the id of a client here."""
    if settings is None or not is_on(settings) or not is_url(client_id):
        return False
    try:
        check(client_id)
    except ValueError:
        return False
    return is_allowed(settings, client_id)
