"""Resetting a forgotten password."""

from authsite.keys import KeyRing

from . import mails
from .tokens import PURPOSE


def includeme(config):
    """Routes under the paths of the variant, letters, and ``request.reset_keys``."""
    cfg = config.registry["authsite.settings"]
    ring = KeyRing(cfg.secret, PURPOSE)
    config.registry["authsite.reset_keys"] = ring
    config.add_request_method(lambda _request: ring, "reset_keys", property=True)
    for name, letter in mails.LETTERS.items():
        config.add_letter(name, letter)
    separator = "-" if cfg.variant == "B" else "/"
    config.add_route("authsite.recovery.forgot", f"/v1/password{separator}forgot")
    config.add_route("authsite.recovery.reset", f"/v1/password{separator}reset")
    config.add_route("authsite.forgot.page", "/password/forgot")
    config.add_route("authsite.reset.page", "/password/reset")
    config.scan(".api")
    config.scan(".pages")
