"""Which routes of the application name a group, or a scope that a group gives."""

from collections.abc import Iterable
from typing import NamedTuple

from pyramid.interfaces import IRoutesMapper
from pyramid.registry import Registry

from authsite.admin.guard import ROUTES
from authsite.guards.route_options import rules_of


class NamingRoute(NamedTuple):
    """A route with the options ``group`` or ``scope``."""

    name: str
    path: str
    group: str | None
    scopes: frozenset[str]


def naming_routes(registry: Registry) -> list[NamingRoute]:
    """The routes that name a group or a scope, in the order of the application."""
    found = []
    for route in registry.getUtility(IRoutesMapper).get_routes(include_static=True):
        rules = rules_of(route)
        if (rules.group or rules.scope) and not route.name.startswith(ROUTES):
            scopes = frozenset(rules.scope.split())
            found.append(NamingRoute(route.name, route.pattern, rules.group, scopes))
    return found


def routes_for(routes: Iterable[NamingRoute], group: str) -> list[str]:
    """The names of the routes that are for the members of ``group`` alone."""
    return [each.name for each in routes if each.group == group]


def routes_by_scope(routes: Iterable[NamingRoute], scopes: Iterable[str]) -> list[NamingRoute]:
    """The routes that need one of ``scopes``."""
    given = set(scopes)
    return [each for each in routes if not given.isdisjoint(each.scopes)]
