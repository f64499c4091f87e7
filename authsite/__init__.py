"""authsite: OAuth 2.0 tokens, login pages, and guards for an API and its web pages.

Stand-alone it is the application of `main`; inside a host application it is
``config.include("authsite")``, whose routes then say ``guard="api"`` or ``guard="web"``.
"""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pyramid.config import Configurator
    from pyramid.router import Router

    from authsite.platform.context import Services

# Pyramid 2.1 imports pkg_resources; from 80.9 on setuptools prints a warning in every command.
warnings.filterwarnings("ignore", message="pkg_resources is deprecated", category=UserWarning)

PACKAGES = (
    "platform.db",
    "platform.context",
    "platform.installation",
    "platform.request_state",
    "platform.request_context",
    "platform.tasks",
    "platform.user_data",
    "platform.denied_requests",
    "platform.single_use",
    "platform.stored_requests",
    "platform.mail",
    "users",
    "platform.http",
    # Early: Pyramid tries routes in this order, and these three have the busiest endpoints.
    "guards",
    "oauth",
    "account",
    "oauth.mfa",
    "oauth.oidc",
    "platform.rate_limit",
    "platform.audit",
    "sign_in",
    "sign_in.sessions",
    "verification",
    "recovery",
    "signup",
    "providers",
    "oauth.registration_endpoint",
    "oauth.codes",
    "oauth.device",
    "oauth.consents",
    "oauth.personal",
    "oauth.authorization",
    "groups",
    "invitations",
    "admin",
    "oauth.discovery",
    "oauth.proxy",
    "openapi",
    "monitoring",
)


def includeme(config: "Configurator") -> None:
    """Include every package; a host keeps its own policy, session factory and tm.* settings."""
    from authsite.platform.http.application import HttpApplication
    from authsite.platform.logs import configure_default

    configure_default()
    config.registry.setdefault("authsite.http", HttpApplication())
    for package in PACKAGES:
        config.include(f"authsite.{package}")


def main(global_config: dict[str, str], **settings: str) -> "Router":
    """The stand-alone WSGI application (PasteDeploy's ``app_factory``).

    Raises what `authsite.platform.installation.features.refuse_other_versions` raises.
    """
    from authsite.platform.installation.features import refuse_other_versions

    # Relative paths in the settings are relative to the folder of this file.
    file = {key: global_config[key] for key in ("__file__",) if key in global_config}
    app = compose({**file, **settings}).make_wsgi_app()
    refuse_other_versions(app.registry["authsite"].settings)
    return app


def compose(
    settings: Mapping[str, str],
    *,
    mail_copies: "Path | None" = None,
    services: "Services | None" = None,
) -> "Configurator":
    """The configurator of the stand-alone application, with every package included.

    ``mail_copies``: see `HttpApplication`; only the workers of ``authsite serve`` give it.
    ``services``: those of a command, which are not made from ``settings`` then.
    """
    from pyramid.config import Configurator
    from pyramid_retry import BeforeRetry

    from authsite.guards.bearer import DefaultDenyPolicy
    from authsite.platform.context import OF_COMMAND
    from authsite.platform.db.failures import RETRIES, pause
    from authsite.platform.http.application import HttpApplication
    from authsite.platform.request_state import freeze_request_class

    settings = {
        # By default pyramid_tm reads the identity before routing; a guard runs after it.
        "tm.annotate_user": "false",
        "tm.manager_hook": "pyramid_tm.explicit_manager",
        "tm.activate_hook": "authsite.platform.db.transaction.needs_transaction",
        "retry.attempts": str(1 + RETRIES),
        "retry.activate_hook": "authsite.platform.http.bodies.retry_attempts",
        **settings,
    }
    config = Configurator(settings=settings, default_permission="guarded")
    config.set_security_policy(DefaultDenyPolicy())
    config.registry["authsite.http"] = HttpApplication(standalone=True, mail_copies=mail_copies)
    if services is not None:
        config.registry[OF_COMMAND] = services
    config.include("pyramid_retry")
    config.add_subscriber(lambda event: pause(event.environ["retry.attempt"] + 1), BeforeRetry)
    config.include("authsite")
    freeze_request_class(config)
    return config
