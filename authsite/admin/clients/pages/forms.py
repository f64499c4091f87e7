"""The forms of a client: texts, of which lists are separated by spaces."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import StringConstraints

from authsite.admin.clients.service import ClientValues
from authsite.admin.confirming import OptionalReason
from authsite.oauth.client_fields import ClientFields
from authsite.platform.http.bodies import Missing
from authsite.platform.i18n import _

Line = Annotated[str, StringConstraints(max_length=1024)]
Long = Annotated[str, StringConstraints(max_length=16384)]
Name = Annotated[str, StringConstraints(max_length=200), Missing(_("Enter a name."))]
LISTS = ("redirect_uris", "post_logout_redirect_uris", "origins")
SWITCHES = ("first_party", "require_confirmed")


class ClientForm(OptionalReason):
    """All values of a client; an empty field removes its value."""

    name: Name
    scope: Line = ""
    default_scope: Line = ""
    redirect_uris: Long = ""
    post_logout_redirect_uris: Long = ""
    origins: Long = ""
    first_party: Line = ""
    consent: Line = ""
    pkce: Line = ""
    id_token_signed_response_alg: Line = ""
    id_token_lifetime: Line = ""
    id_token_claims: Line = ""
    require_confirmed: Line = ""
    require_group: Line = ""
    default_resource: Line = ""
    logo: Line = ""
    policy_uri: Line = ""
    tos_uri: Line = ""


class NewClientForm(ClientForm):
    """A new client: the type, and what most clients need."""

    type: Annotated[Line, Missing(_("Choose a type."))]


def values_of(given: Any, names: Iterable[str]) -> ClientValues:
    """The values of a `ClientForm`, or of what a `Judge` gets of one, with the fields ``names``."""
    fields = {name: _value(name, getattr(given, name)) for name in names}
    return ClientValues(given.name, given.scope, given.default_scope, ClientFields(**fields))


def new_values_of(given: Any) -> ClientValues:
    """The values of a `NewClientForm`, without those of empty fields."""
    return values_of(given, [name for name in ClientFields._fields if getattr(given, name)])


def _value(name: str, text: str | None) -> Any:
    if text is None:  # of a field that is not valid
        return None
    if name in LISTS:
        return text.split()
    if name in SWITCHES:
        return {"on": True, "off": False}.get(text)
    if name == "pkce":
        return text or None
    return text
