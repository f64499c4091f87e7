"""Resetting a forgotten password."""

from typing import TYPE_CHECKING

from authsite.platform.http import cross_site
from authsite.platform.http.api_metadata import Tag

from . import service

if TYPE_CHECKING:
    from pyramid.config import Configurator

API_TAG = Tag(
    "Password recovery",
    "Request a reset link by mail, and set a new password with it.",
    place=70,
)


def includeme(config: "Configurator") -> None:
    """Routes under the paths of the variant, and the mails."""
    cfg = config.registry["authsite"].settings
    for name, builder in service.BUILDERS.items():
        config.add_mail_builder(name, builder)
    separator = "-" if cfg.variant == "B" else "/"
    config.add_route("authsite.recovery.forgot", f"/v1/password{separator}forgot", errors="json")
    config.add_route("authsite.recovery.reset", f"/v1/password{separator}reset", errors="json")
    cross_site.trust_pages(
        config,
        lambda cfg: (*cfg.allowed_reset_password_urls, cfg.users_reset_password_url),
        "authsite.recovery.forgot",
        "authsite.recovery.reset",
    )
    config.add_route("authsite.forgot.page", "/password/forgot")
    config.add_route("authsite.reset.page", "/password/reset")
    config.add_route("authsite.reset.check", "/password/reset/check")
    config.add_route("authsite.reset.link", "/password/reset/{token}")  # after the one above
    config.scan(".api")
    config.scan(".pages")
