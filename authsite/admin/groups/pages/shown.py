"""The list of groups with who can do what, and the page of a group."""

from collections.abc import Iterable
from typing import Any

from pyramid.view import view_config
from sqlalchemy import select

from authsite.admin.groups import listing
from authsite.admin.groups.naming import NamingRoute, naming_routes, routes_by_scope, routes_for
from authsite.admin.guard import administrator_of
from authsite.admin.queries import ListQuery, query_of
from authsite.groups import applying
from authsite.oauth.models import Client
from authsite.platform.context import Context
from authsite.platform.request_state import Request
from authsite.users.groups.reserved import is_reserved

MAX_CLIENTS = 200  # that name a group, on one page


@view_config(
    route_name="authsite.admin.groups",
    request_method="GET",
    renderer="authsite:templates/admin/groups/groups.jinja2",
    admin="groups:read",
)
def groups(request: Request) -> dict[str, Any]:
    """A part of the list: each group with its scopes, and the routes and clients that name it."""
    query = query_of(request, ListQuery)
    ctx, by = request.authsite.ctx, administrator_of(request)
    found = listing.some(ctx, by, query.limit, query.cursor)
    routes = naming_routes(request.registry)
    names = [each.name for each in found.rows]
    clients = _clients(ctx, names) if by.may("clients:read") else {}
    return {
        "found": found,
        "routes": {name: _routes_of(routes, name) for name in names},
        "clients": clients,
        "counted_to": listing.COUNTED_TO,
        "deletions": applying.deletions(ctx.db),
    }


@view_config(
    route_name="authsite.admin.groups.group",
    request_method="GET",
    renderer="authsite:templates/admin/groups/group.jinja2",
    admin="groups:read",
)
def group(request: Request) -> dict[str, Any]:
    """One group, and a part of its members."""
    query = query_of(request, ListQuery)
    ctx, by, name = request.authsite.ctx, administrator_of(request), request.matchdict["name"]
    found = listing.one(ctx, name)
    routes = naming_routes(request.registry)
    return {
        "group": found,
        "reserved": is_reserved(name),
        "members": listing.members(ctx, by, name, query.limit, query.cursor),
        "routes": _routes_of(routes, name),
        "by_scope": {each: routes_by_scope(routes, [each]) for each in found.scopes},
        "clients": _clients(ctx, [name]).get(name, []) if by.may("clients:read") else [],
        "counted_to": listing.COUNTED_TO,
    }


def _routes_of(routes: Iterable[NamingRoute], name: str) -> list[NamingRoute]:
    named = set(routes_for(routes, name))
    return [each for each in routes if each.name in named]


def _clients(ctx: Context, names: Iterable[str]) -> dict[str, list[Client]]:
    """The clients that are for the members of each of these groups alone."""
    query = select(Client).where(Client.require_group.in_(list(names)))
    found: dict[str, list[Client]] = {}
    for client in ctx.db.scalars(query.order_by(Client.name, Client.id).limit(MAX_CLIENTS)):
        found.setdefault(client.require_group or "", []).append(client)
    return found
