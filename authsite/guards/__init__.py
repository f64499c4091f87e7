"""Guards: a route names one (``guard="api"``), and it is enforced before any view runs."""

from pyramid.events import ApplicationCreated, ContextFound

from authsite.keys import KeyRing

from . import bearer, csrf, forms, policy, session


def includeme(config):
    """The route options, the guards, and their enforcement."""
    config.registry["authsite.guards"] = {"api": bearer.api_guard, "web": session.web_guard}
    config.registry["authsite.route_rules"] = {}
    for name, option in policy.ROUTE_OPTIONS.items():
        config.add_route_predicate(name, option)
    config.add_request_method(policy.no_caller, "caller", reify=True)
    secrets = config.registry["authsite.settings"].secret
    config.registry["authsite.csrf_keys"] = KeyRing(secrets, "csrf")
    config.add_request_method(csrf.token, "csrf_token", reify=True)
    config.add_request_method(session.signed_in, "signed_in", reify=True)
    config.add_request_method(lambda _request: {}, "sent", reify=True)
    config.add_request_method(lambda _request: {}, "typed", reify=True)
    config.add_request_method(lambda _request: (), "mistakes", reify=True)
    config.add_view_deriver(policy.own_view_deriver, "authsite_own")
    # Outside the limits: what they refuse is shown in the form, too.
    config.add_view_deriver(forms.form_deriver, "form", under="decorated_view", over="throttle")
    config.add_subscriber(policy.check_routes, ApplicationCreated)
    config.add_subscriber(policy.enforce, ContextFound)
