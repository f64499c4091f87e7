"""The API of a user's passkeys, below /v1/user/passkeys."""

from typing import TYPE_CHECKING

from authsite.account.factors import API_TAG

if TYPE_CHECKING:
    from pyramid.config import Configurator


__all__ = ["API_TAG"]


def includeme(config: "Configurator") -> None:
    """The routes and their views."""
    config.add_route("authsite.user.passkeys", "/v1/user/passkeys", guard="api", unenrolled=True)
    config.add_route(
        "authsite.user.passkeys.options", "/v1/user/passkeys/options", guard="api", unenrolled=True
    )
    config.add_route(
        "authsite.user.passkey", "/v1/user/passkeys/{id}", guard="api", unenrolled=True
    )
    config.scan(".api")
