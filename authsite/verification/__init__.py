"""Proving e-mail addresses: signed links, and the change of an address."""

from typing import TYPE_CHECKING

from authsite.platform.http import cross_site
from authsite.platform.http.api_metadata import Tag
from authsite.sign_in.failure_reasons import FailureReason

from . import mails
from .service import notify_unconfirmed, require_confirmed

if TYPE_CHECKING:
    from pyramid.config import Configurator

API_TAG = Tag("E-mail verification", "Verification links.", place=60)


def includeme(config: "Configurator") -> None:
    """Routes, mail builders and the account condition of required confirmation."""
    cfg = config.registry["authsite"].settings
    config.add_account_condition(
        require_confirmed, notify_unconfirmed, reason=FailureReason.UNCONFIRMED
    )
    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
    config.add_route(
        "authsite.verification.notification",
        "/v1/email/verification-notification",
        guard="api",
        unconfirmed=True,
        unenrolled=True,
        anonymous=cfg.confirms_as_in_variant_b,
    )
    config.add_route(
        "authsite.verification.verify", "/v1/email/verify/{user_id}/{hash}", errors="json"
    )
    cross_site.trust_pages(
        config,
        lambda cfg: (*cfg.allowed_verify_email_urls, cfg.users_confirm_email_url),
        "authsite.verification.notification",
        "authsite.verification.verify",
    )
    config.add_route("authsite.verify.page", "/email/verify")
    config.add_route("authsite.disown.page", "/email/verify/disown")
    config.add_route("authsite.link.page", "/email/link")
    config.add_route("authsite.verify.link", "/email/verify/{token}")  # after those above
    for name in ("cancel", "revert"):
        config.add_route(f"authsite.{name}_change.page", f"/email/change/{name}")
        config.add_route(f"authsite.{name}_change.link", f"/email/change/{name}/{{token}}")
    config.scan(".api")
    config.scan(".pages")
