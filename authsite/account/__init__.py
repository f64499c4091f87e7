"""The account of a signed-in user: profile, address, password, sign-ins, deletion."""

from typing import TYPE_CHECKING

from authsite.platform.http.api_metadata import Tag
from authsite.platform.i18n import _
from authsite.platform.rate_limit.storage import LimitCounter
from authsite.platform.user_data import UserData

from . import mails
from .factors import pages as factor_pages
from .pages import SECTIONS
from .service import list_counters

if TYPE_CHECKING:
    from pyramid.config import Configurator

API_TAG = Tag(
    "Account",
    "The user that a token acts for: show, change or delete it; list and end its sign-ins.",
    place=40,
)


def includeme(config: "Configurator") -> None:
    """Routes below /v1/user, and those of the account pages and their forms."""
    config.add_route("authsite.user", "/v1/user", guard="api")
    config.add_route("authsite.profile", "/v1/profile", guard="api")
    config.add_route("authsite.user.email", "/v1/user/email", guard="api")
    config.add_route("authsite.user.email.pending", "/v1/user/email/pending", guard="api")
    config.add_route("authsite.user.password", "/v1/user/password", guard="api")
    config.add_route("authsite.user.export", "/v1/user/export", guard="api")
    config.add_route("authsite.user.sessions", "/v1/user/sessions", guard="api")
    config.add_route("authsite.user.session", "/v1/user/sessions/{id}", guard="api")
    for name in ("recovery-codes", "second-factor", "remembered-browsers"):
        route = f"authsite.user.{name.replace('-', '_')}"
        config.add_route(route, f"/v1/user/{name}", guard="api")
    # A user who has to add a second factor can do so.
    for name, path in {
        "factors": "factors",
        "totp": "totp",
        "totp.confirm": "totp/confirm",
        "mail_code": "mail-code",
    }.items():
        config.add_route(f"authsite.user.{name}", f"/v1/user/{path}", guard="api", unenrolled=True)
    config.add_route("authsite.account.security", "/account/security", guard="web", unenrolled=True)
    factor_pages.add_routes(config)
    for name, path in {
        "account": "/account",
        "account.access": "/account/access",
        "account.activity": "/account/activity",
        "account.profile": "/account/profile",
        "account.email": "/account/email",
        "account.email.resend": "/account/email/resend",
        "account.email.cancel": "/account/email/cancel",
        "account.language": "/account/language",
        "account.password": "/account/password",
        "account.password.link": "/account/password/link",
        "account.password.check": "/account/password/check",
        "account.sessions.end_others": "/account/sessions/end-others",
        "account.sessions.end": "/account/sessions/{id}/end",
        "account.export": "/account/export",
        "account.delete": "/account/delete",
    }.items():
        config.add_route(f"authsite.{name}", path, guard="web")
    config.add_route("authsite.not_me.page", "/login/not-me")
    config.add_route("authsite.not_me.password", "/login/not-me/password")
    config.add_route("authsite.not_me.check", "/login/not-me/check")
    config.add_route("authsite.not_me.link", "/login/not-me/{token}")  # after those above
    config.add_route("authsite.change-password", "/.well-known/change-password")
    config.add_user_data(
        UserData("rate_limits", LimitCounter, "count expires_at", rows=list_counters, retained=True)
    )
    config.add_account_page("account", _("Profile"))
    config.add_account_page("account.security", _("Security"))
    config.add_account_page("account.access", _("Access tokens"))
    for section in (*SECTIONS, factor_pages.SECTION):
        config.add_account_section(section)
    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
    # First: Pyramid tries the views of a route in the order of registration, and each one that does
    # not match the request takes 5 µs. A scan registers views in the order of their names.
    for route in ("authsite.user", "authsite.profile"):
        config.add_view(
            ".api.show",
            route_name=route,
            request_method="GET",
            renderer="json",
            personal_token=True,
        )
    config.include(".passkeys")
    config.scan(".api")
    config.scan(".factors")
    config.scan(".pages")
