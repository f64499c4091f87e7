"""The forms of a client: texts, of which lists are separated by spaces."""

from typing import Annotated, Any

from pydantic import StringConstraints

from authsite.admin.clients.errors import InvalidClient
from authsite.admin.clients.service import ClientValues
from authsite.admin.confirming import OptionalReason
from authsite.oauth.client_fields import ClientFields, seconds_of
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

    def values(self, names: tuple[str, ...]) -> ClientValues:
        """The values, with those of the fields ``names``. Raises `InvalidClient`."""
        given = {name: self._value(name) for name in names}
        return ClientValues(self.name, self.scope, self.default_scope, ClientFields(**given))

    def _value(self, name: str) -> Any:
        text: str = getattr(self, name)
        if name in LISTS:
            return text.split()
        if name in SWITCHES:
            return {"on": True, "off": False}.get(text)
        if name == "pkce":
            return text or None
        if name == "id_token_lifetime":
            try:
                return seconds_of(text)
            except ValueError as error:
                raise InvalidClient(error, name) from None
        return text


class NewClientForm(ClientForm):
    """A new client: the type, and what most clients need."""

    type: Annotated[Line, Missing(_("Choose a type."))]

    def given(self) -> ClientValues:
        """The values, without those of empty fields. Raises `InvalidClient`."""
        names = [name for name in ClientFields._fields if getattr(self, name)]
        return self.values(tuple(names))
