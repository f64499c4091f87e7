"""The proxy endpoints for a second step, and for a sign-in by passkey."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """Three paths for every client."""
    for name, path in {
        "mfa": "mfa",
        "passkey_options": "passkey-options",
        "passkey": "passkey",
    }.items():
        config.add_route(f"authsite.proxy.{name}", f"/v1/clients/{{client}}/{path}", errors="oauth")
    config.scan(".api")
