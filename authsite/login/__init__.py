"""Log in: login names, the password check, and the steps that every login must pass."""

from typing import TYPE_CHECKING

from authsite.audit.events import FailureReason

from .service import Check, LoginStep, Notify

if TYPE_CHECKING:
    from pyramid.config import Configurator


def add_login_step(
    config: "Configurator",
    check: Check,
    notify: Notify | None = None,
    reason: FailureReason = "denied",
) -> None:
    """Directive: ``check(ctx, account)`` runs at every login and refresh; it raises to deny.

    ``notify`` and ``reason``: see `LoginStep`.
    """
    config.registry["authsite"].extensions.login_steps.append(LoginStep(check, notify, reason))


def includeme(config: "Configurator") -> None:
    """``config.add_login_step`` and the routes."""
    config.add_directive("add_login_step", add_login_step)
    # In a host without a route prefix, "/" is the host's: the route only makes links.
    ours = config.registry["authsite.http"].standalone or config.route_prefix
    config.add_route("authsite.home", "/", static=not ours)
    config.add_route("authsite.login.page", "/login")
    config.add_route("authsite.logout.page", "/logout")
    config.scan(".pages")
