"""The gate that every sign-in passes, and the pages of login and logout."""

from typing import TYPE_CHECKING

from pyramid.events import ApplicationCreated

from authsite.sign_in import known_address, login_url, reauthentication
from authsite.sign_in import notices as undo_notice
from authsite.sign_in.failure_reasons import FailureReason
from authsite.sign_in.method import METHODS, Method
from authsite.sign_in.methods import password
from authsite.sign_in.methods.mail_code import mails as code_mails
from authsite.sign_in.methods.mail_code import service as mail_code
from authsite.sign_in.methods.passkeys import assertion as passkeys
from authsite.sign_in.methods.passkeys.failures import PasskeyFailure
from authsite.sign_in.methods.provider.failures import AddressDoubt, ProviderFailure

from .factors import notices as factor_notices
from .factors import pages as factor_pages
from .factors import recovering, remembered
from .gate import ACCOUNT_CONDITIONS, AccountCondition, Check, Notify
from .methods.recovery_codes import method as recovery_codes
from .methods.totp import method as totp
from .pending import purge
from .sessions import csrf
from .sessions.models import BrowserSession
from .user_data import USER_DATA

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
    ACCOUNT_CONDITIONS.add(config, AccountCondition(check, notify, reason))


def add_sign_in_method(config: "Configurator", method: Method) -> None:
    """Directive: register a way to prove who one is, under its name; see `Method`."""
    METHODS.add(config, method, method.name)


def includeme(config: "Configurator") -> None:
    """The directives, the password as a method, the pages, and the table of pending logins."""
    config.add_directive("add_account_condition", add_account_condition)
    config.add_directive("add_sign_in_method", add_sign_in_method, action_wrap=False)
    config.add_directive("add_onward", login_url.add_onward)
    config.add_reasons("form", csrf.CsrfCause)
    config.add_reasons("login", FailureReason)
    config.add_reasons("passkey", PasskeyFailure)
    config.add_reasons("provider", ProviderFailure)
    config.add_reasons("provider_address", AddressDoubt)
    config.add_sign_in_method(password.METHOD)
    config.add_sign_in_method(passkeys.METHOD)
    config.add_sign_in_method(totp.METHOD)
    config.add_sign_in_method(recovery_codes.METHOD)
    config.at_recovery(recovering.after_recovery)
    factor_notices.SIGN_INS.add(config, BrowserSession)
    config.add_sign_in_method(mail_code.METHOD)
    for name, builder in code_mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
    # In a host without a route prefix, "/" is the host's: the route only makes links.
    ours = config.registry["authsite.http"].standalone or config.route_prefix
    config.add_route("authsite.home", "/", static=not ours)
    config.add_route("authsite.login.page", "/login")
    config.add_route("authsite.login.factor", "/login/factor")
    config.add_route("authsite.login.factor.done", "/login/factor/done")
    config.add_route("authsite.login.factor.mail", "/login/factor/mail")
    config.add_route("authsite.login.passkey", "/login/passkey")
    config.add_route("authsite.login.passkey.options", "/login/passkey/options")
    config.add_route("authsite.passkeys.origins", "/.well-known/webauthn")
    if config.registry["authsite"].settings.email_sign_in:
        config.add_route("authsite.login.email", "/login/email")
        config.scan(".methods.mail_code.sign_in_pages")
    config.add_route("authsite.login.code", "/login/code")
    config.add_route("authsite.login.code.link", "/login/code/{token}")
    config.add_route("authsite.logout.page", "/logout")
    config.add_request_attribute("known_address", known_address.known_address)
    config.add_request_attribute("factor_day", factor_pages.factor_day)
    config.add_request_attribute("proof", reauthentication.proof)
    config.add_request_attribute("factor_proof", reauthentication.factor_proof)
    config.add_request_attribute("undo_notice", undo_notice.undo_notice)
    config.add_subscriber(login_url.check_login_page, ApplicationCreated)
    config.scan(".pages")
    config.scan(".methods.passkeys.pages")
    config.scan(".factors.pages")
    config.scan(".methods.mail_code.pages")
    config.add_user_data(*USER_DATA)
    config.add_cleanup("pending_logins", "Pending logins", purge, when="ended a day ago")
    config.add_cleanup(
        "remembered_browsers", "Remembered browsers", remembered.purge, when="expired"
    )
