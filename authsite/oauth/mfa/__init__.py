"""Logins by API that need a further proof: what is missing, and how it is given.

The grants are in `authsite.oauth.grants`. Third-party clients never see any of this: their users
sign in on our pages.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The routes with which a client prepares a second step or a sign-in by passkey."""
    config.add_route("authsite.mfa.enroll", "/v1/mfa/enroll", errors="oauth")
    config.add_route("authsite.mfa.email", "/v1/mfa/email", errors="oauth")
    config.add_route("authsite.passkeys.options", "/v1/passkeys/options", errors="oauth")
    config.scan(".api")
