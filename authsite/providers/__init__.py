"""Sign in with other providers: whose account it is, linking, and the pages."""

from typing import TYPE_CHECKING

from . import mails

if TYPE_CHECKING:
    from pyramid.config import Configurator

# Below /login/with/{name}/
_FORMS = ("address", "mail", "create", "connect", "join", "recover", "check", "enter")


def includeme(config: "Configurator") -> None:
    """Routes, pages and mails; no routes where no provider is in the settings."""
    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
    config.include(".linking")
    if not config.registry["authsite"].settings.providers:
        return
    config.add_route("authsite.provider.start", "/login/with/{name}")
    config.add_route("authsite.provider.return", "/login/with/{name}/return")
    config.add_route("authsite.provider.step", "/login/with/{name}/account")
    for name in _FORMS:
        config.add_route(f"authsite.provider.{name}", f"/login/with/{{name}}/{name}")
    config.add_route("authsite.provider.link", "/login/with/{name}/link/{token}")
    config.scan(".pages")
