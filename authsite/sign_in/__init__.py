"""The gate that every sign-in passes: methods, account conditions and pending logins."""

from typing import TYPE_CHECKING

from authsite.audit.events import FailureReason
from authsite.user_data import UserData

from . import password
from .conditions import ACCOUNT_CONDITIONS, AccountCondition, Check, Notify
from .methods import METHODS, Method
from .models import PendingLogin
from .pending import purge

if TYPE_CHECKING:
    from pyramid.config import Configurator


def add_account_condition(
    config: "Configurator",
    check: Check,
    notify: Notify | None = None,
    reason: FailureReason = "denied",
) -> None:
    """Directive: ``check(ctx, account)`` runs at every sign-in and refresh; it raises to deny.

    ``notify`` and ``reason``: see `AccountCondition`.
    """
    ACCOUNT_CONDITIONS.add(config, AccountCondition(check, notify, reason))


def add_sign_in_method(config: "Configurator", method: Method) -> None:
    """Directive: register a way to prove who one is, under its name; see `Method`."""
    METHODS.add(config, method, method.name)


def includeme(config: "Configurator") -> None:
    """The directives, the password as a method, and the cleanup of pending logins."""
    config.add_directive("add_account_condition", add_account_condition)
    config.add_directive("add_sign_in_method", add_sign_in_method, action_wrap=False)
    config.add_sign_in_method(password.METHOD)
    config.add_user_data(UserData("pending_logins", PendingLogin))
    config.add_cleanup("pending_logins", "Pending logins", purge, when="ended a day ago")
