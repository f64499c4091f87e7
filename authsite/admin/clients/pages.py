"""The pages of clients."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, StringConstraints
from pyramid.response import Response
from pyramid.view import view_config

from authsite.admin.clients import service
from authsite.admin.clients.service import ClientValues, usage_of
from authsite.admin.confirming import Confirmation, OptionalReason, confirming, done
from authsite.admin.guard import administrator_of
from authsite.admin.lists import ListQuery, query_of
from authsite.oauth.clients import fields as client_fields
from authsite.oauth.clients import uris as client_uris
from authsite.oauth.clients.fields import ClientFields
from authsite.oauth.models import REGISTRABLE_TYPES, UNVERIFIED_TYPES, Client, grant_types_of
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Missing
from authsite.platform.http.errors import FieldError
from authsite.platform.http.rendering import render_page
from authsite.platform.i18n import _
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_client_id

# The forms of a client: texts, of which lists are separated by spaces.


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


# The confirming pages of clients. A secret is in the answer to the form alone.


FIELDS = "authsite:templates/admin/clients/client_fields.jinja2"
NEW_FIELDS = "authsite:templates/admin/clients/new_fields.jinja2"
SECRET = "authsite:templates/admin/clients/secret.jinja2"
_ONCE = _("The secret is shown once, on the next page.")


def ask_new(request: Request) -> Confirmation:
    """The page of a new client."""
    return Confirmation(
        title=_("Register an app or program"),
        effects=[
            _("Its type never changes."),
            _ONCE,
            *_cleartext(request),
            _("With a scope that begins with admin: a program administers this site by itself."),
        ],
        button=_("Register"),
        back=route_path(request, "authsite.admin.clients"),
        fields=NEW_FIELDS,
        names=("name", "type", "scope", "default_scope", "redirect_uris", "require_group"),
        values={"types": list(REGISTRABLE_TYPES)},
    )


def _judge_new(request: Request, given: Any) -> Sequence[FieldError]:
    ctx, by, values = request.authsite.ctx, administrator_of(request), new_values_of(given)
    unread = ("scope",) if given.scope is None else ()
    return service.registration_errors(ctx, by, given.type, values, given.reason, unread=unread)


@confirming(
    "authsite.admin.clients.new",
    NewClientForm,
    ask=ask_new,
    others=_judge_new,
    admin="clients:write",
    recent=True,
)
def register(request: Request) -> Response:
    """Register a client, and show its secret."""
    given: NewClientForm = request.authsite.validated
    ctx, by = request.authsite.ctx, administrator_of(request)
    made, secret = service.register(ctx, by, given.type, new_values_of(given), given.reason)
    if secret is None:
        return done(request, _page(request, made), "registered")
    return _with_secret(request, made, secret)


def ask_change(request: Request) -> Confirmation:
    """The page of a change."""
    client = _client(request)
    shown = client_fields.shown(client, service.uris_of(request.authsite.ctx, client))
    return Confirmation(
        title=_("Change ${name}", mapping={"name": client.name}),
        effects=[
            _("With fewer scopes, or if it becomes your own app or ceases to be, its tokens end."),
            *_cleartext(request),
            _("With a scope that begins with admin: a program administers this site by itself."),
        ],
        button=_("Save"),
        back=_page(request, client),
        fields=FIELDS,
        names=("name", "scope", "default_scope", *shown),
        values={"client": client, "shown": shown},
    )


def _judge_change(request: Request, given: Any) -> Sequence[FieldError]:
    client, by = _client(request), administrator_of(request)
    values = values_of(given, client_fields.names_for(client))
    ctx, unread = request.authsite.ctx, ("scope",) if given.scope is None else ()
    return service.change_errors(ctx, by, client.id, values, given.reason, unread=unread)


@confirming(
    "authsite.admin.clients.change",
    ClientForm,
    ask=ask_change,
    others=_judge_change,
    admin="clients:write",
    recent=True,
)
def change(request: Request) -> Response:
    """Change a client."""
    given: ClientForm = request.authsite.validated
    client, by = _client(request), administrator_of(request)
    values = values_of(given, client_fields.names_for(client))
    service.change(request.authsite.ctx, by, client.id, values, given.reason)
    return done(request, _page(request, client), "changed")


def ask_rotate(request: Request) -> Confirmation:
    """The page before a client gets a new secret."""
    client = _client(request)
    return Confirmation(
        title=_("Give ${name} a new secret?", mapping={"name": client.name}),
        effects=[
            _("The present secret works until you retire it. An older one ends now."),
            _ONCE,
        ],
        button=_("New secret"),
        back=_page(request, client),
    )


@confirming(
    "authsite.admin.clients.rotate_secret", ask=ask_rotate, admin="clients:write", recent=True
)
def rotate_secret(request: Request) -> Response:
    """Give a client a new secret, and show it."""
    ctx, by, given = request.authsite.ctx, administrator_of(request), _given(request)
    return _with_secret(request, *service.rotate_secret(ctx, by, _id(request), given.reason))


def ask_retire(request: Request) -> Confirmation:
    """The page before the older secret ends."""
    client = _client(request)
    return Confirmation(
        title=_("Retire the older secret of ${name}?", mapping={"name": client.name}),
        effects=[_("Programs that still use the older secret are refused from now on.")],
        button=_("Retire"),
        back=_page(request, client),
        dangerous=True,
    )


@confirming(
    "authsite.admin.clients.retire_secret", ask=ask_retire, admin="clients:write", recent=True
)
def retire_secret(request: Request) -> Response:
    """End the older of two secrets."""
    ctx, by, given = request.authsite.ctx, administrator_of(request), _given(request)
    client = service.retire_secret(ctx, by, _id(request), given.reason)
    return done(request, _page(request, client), "retired")


def ask_disable(request: Request) -> Confirmation:
    """The page before a client is disabled."""
    client = _client(request)
    return Confirmation(
        title=_("Disable ${name}?", mapping={"name": client.name}),
        effects=[_("It is refused from now on, and all its tokens end.")],
        button=_("Disable"),
        back=_page(request, client),
        dangerous=True,
    )


@confirming("authsite.admin.clients.disable", ask=ask_disable, admin="clients:write", recent=True)
def disable(request: Request) -> Response:
    """Disable a client."""
    ctx, by, given = request.authsite.ctx, administrator_of(request), _given(request)
    client = service.disable(ctx, by, _id(request), given.reason)
    return done(request, _page(request, client), "disabled")


def ask_enable(request: Request) -> Confirmation:
    """The page before a client is enabled."""
    client = _client(request)
    return Confirmation(
        title=_("Enable ${name}?", mapping={"name": client.name}),
        effects=[_("It is accepted again. Tokens that have ended stay so.")],
        button=_("Enable"),
        back=_page(request, client),
    )


@confirming("authsite.admin.clients.enable", ask=ask_enable, admin="clients:write", recent=True)
def enable(request: Request) -> Response:
    """Enable a client."""
    ctx, by, given = request.authsite.ctx, administrator_of(request), _given(request)
    client = service.enable(ctx, by, _id(request), given.reason)
    return done(request, _page(request, client), "enabled")


def _cleartext(request: Request) -> list[str]:
    """What a form says where clients may be sent to hosts without TLS."""
    hosts = request.authsite.settings.http_redirect_hosts
    if not hosts:
        return []
    text = _(
        "Redirect URIs of ${hosts} may begin with http: whoever can read that network can read the"
        " codes there.",
        mapping={"hosts": ", ".join(hosts)},
    )
    return [text]


def _with_secret(request: Request, client: Client, secret: str) -> Response:
    values = {"client": client, "secret": secret}
    request.response.text = render_page(request, SECRET, values)
    return request.response


def _given(request: Request) -> OptionalReason:
    given: OptionalReason = request.authsite.validated
    return given


def _id(request: Request) -> UUID | None:
    return as_client_id(request.matchdict["id"])


def _client(request: Request) -> Client:
    return service.find(request.authsite.ctx, _id(request))


def _page(request: Request, client: Client) -> str:
    return route_path(request, "authsite.admin.clients.client", id=client.id)


# The query of the page with the list of clients.


class PageQuery(ListQuery):
    """Query of the page."""

    q: Annotated[str | None, Field(max_length=254)] = None
    """Only names with this text in them."""


# The list of clients, and the page of a client.


@view_config(
    route_name="authsite.admin.clients",
    request_method="GET",
    renderer="authsite:templates/admin/clients/clients.jinja2",
    admin="clients:read",
)
def clients(request: Request) -> dict[str, Any]:
    """A part of the list, the newest first."""
    query = query_of(request, PageQuery)
    ctx, by, wanted = request.authsite.ctx, administrator_of(request), service.Filters(query.q)
    return {"found": service.some(ctx, by, wanted, query.limit, query.cursor), "q": query.q}


@view_config(
    route_name="authsite.admin.clients.client",
    request_method="GET",
    renderer="authsite:templates/admin/clients/client.jinja2",
    admin="clients:read",
)
def client(request: Request) -> dict[str, Any]:
    """One client, and how it is used."""
    ctx = request.authsite.ctx
    found = service.find(ctx, as_client_id(request.matchdict["id"]))
    uris = service.uris_of(ctx, found)
    return {
        "client": found,
        "unverified": found.type in UNVERIFIED_TYPES,
        "grant_types": grant_types_of(found.type, found.grant_types),
        "fields": client_fields.shown(found, uris),
        "cleartext": client_uris.unencrypted(uris, found.id),
        "usage": usage_of(ctx, found),
    }
