"""The list of clients, and the page of a client."""

from typing import Any

from pyramid.view import view_config

from authsite.admin.clients import service
from authsite.admin.clients.usage import usage_of
from authsite.admin.guard import administrator_of
from authsite.admin.queries import query_of
from authsite.oauth import client_fields, client_uris
from authsite.oauth.models import UNVERIFIED_TYPES, grant_types_of
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_client_id

from .query import PageQuery


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
