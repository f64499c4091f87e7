"""The gate that every sign-in passes: methods, account conditions and pending logins."""

from typing import TYPE_CHECKING

from authsite.audit.events import FailureReason

from . import password
from .conditions import AccountCondition, Check, Notify
from .gate import Method

if TYPE_CHECKING:
    from pyramid.config import Configurator


def add_account_condition(
    config: "Configurator",
    check: Check,
    notify: Notify | None = None,
    reason: FailureReason = FailureReason.DENIED,
) -> None:
    """Directive: ``check(ctx, account)`` runs at every sign-in and refresh; it raises to deny.

    ``notify`` and ``reason``: see `AccountCondition`.
    """
    condition = AccountCondition(check, notify, reason)
    config.registry["authsite"].extensions.account_conditions.append(condition)


def add_sign_in_method(config: "Configurator", method: Method) -> None:
    """Directive: register a way to prove who one is, under its name; see `Method`."""
    config.registry["authsite"].extensions.sign_in_methods[method.name] = method


def includeme(config: "Configurator") -> None:
    """The directives, and the password as a method."""
    config.add_directive("add_account_condition", add_account_condition)
    config.add_directive("add_sign_in_method", add_sign_in_method, action_wrap=False)
    config.add_sign_in_method(password.METHOD)
