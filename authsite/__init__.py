"""authsite: OAuth 2.0 tokens, login pages, and guards for an API and its web pages.

Stand-alone it is the application of `main`; inside a host application it is
``config.include("authsite")``, whose routes then say ``guard="api"`` or ``guard="web"``.
"""

import warnings

# Pyramid 2.1 asks for pkg_resources, and setuptools from 80.9 on tells every user of a command.
warnings.filterwarnings("ignore", message="pkg_resources is deprecated", category=UserWarning)

ROOMS = (
    "settings",
    "db",
    "users",  # early: routes are tried in this order, and its route is the one asked most
    "http",
    "throttle",
    "mail",
    "login",
    "guards",
    "oauth",
    "verification",
    "recovery",
    "signup",
    "account",
    "proxy",
    "openapi",
    "janitor",
)


def includeme(config):
    """Include every room. Sets no policy, permission, session factory or tm.* of a host."""
    from authsite.ops.logging import be_safe

    be_safe()
    config.registry.setdefault("authsite.standalone", False)
    config.include("pyramid_jinja2")
    for room in ROOMS:
        config.include(f"authsite.{room}")


def main(global_config, **settings):
    """The stand-alone WSGI application (PasteDeploy's ``app_factory``)."""
    return compose(settings).make_wsgi_app()


def compose(settings):
    """The stand-alone application before it is made: every room is in its registry."""
    from pyramid.config import Configurator

    from authsite.guards.policy import GuardedByDefault
    from authsite.http.request_class import settle

    settings = {
        # The guard is picked by the route; asking who calls before routing would find nobody.
        "tm.annotate_user": "false",
        "tm.manager_hook": "pyramid_tm.explicit_manager",
        "tm.activate_hook": "authsite.db.transaction.writes",
        "retry.attempts": "3",
        "retry.activate_hook": "authsite.http.bodies.attempts",
        **settings,
    }
    config = Configurator(settings=settings, default_permission="guarded")
    config.set_security_policy(GuardedByDefault())
    config.registry["authsite.standalone"] = True
    config.include("pyramid_retry")
    config.include("authsite")
    settle(config)
    return config
