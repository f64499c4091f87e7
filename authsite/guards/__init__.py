"""Guards: a route names one (``guard="api"``), and it is enforced before any view runs."""

from pyramid.events import ApplicationCreated, ContextFound

from . import bearer, policy


def includeme(config):
    """The route options, the guards, and their enforcement."""
    config.registry["authsite.guards"] = {"api": bearer.api_guard}
    config.registry["authsite.route_rules"] = {}
    for name, option in policy.ROUTE_OPTIONS.items():
        config.add_route_predicate(name, option)
    config.add_request_method(policy.no_caller, "caller", reify=True)
    config.add_subscriber(policy.check_routes, ApplicationCreated)
    config.add_subscriber(policy.enforce, ContextFound)
