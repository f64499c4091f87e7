"""Proving e-mail addresses: signed links, and the change of an address."""

from authsite.keys import KeyRing

from . import mails
from .service import must_be_confirmed
from .signed_urls import PURPOSE


def includeme(config):
    """Routes, letters, ``request.verification_keys`` and the login step of Variant B."""
    cfg = config.registry["authsite.settings"]
    ring = KeyRing(cfg.secret, PURPOSE)
    config.registry["authsite.verification_keys"] = ring
    config.add_request_method(lambda _request: ring, "verification_keys", property=True)
    config.add_login_step(must_be_confirmed)
    for name, letter in mails.LETTERS.items():
        config.add_letter(name, letter)
    config.add_route(
        "authsite.verification.notification",
        "/v1/email/verification-notification",
        guard="api",
        unconfirmed=True,
        anonymous=cfg.variant == "B" or None,
    )
    config.add_route("authsite.verification.verify", "/v1/email/verify/{user_id}/{hash}")
    config.add_route("authsite.user.email", "/v1/user/email", guard="api")
    config.add_route("authsite.verify.page", "/email/verify")
    config.add_route("authsite.ask.page", "/email/link")
    config.scan(".api")
    config.scan(".pages")
