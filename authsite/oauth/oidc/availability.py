"""Whether this application is an OpenID Provider (setting `openid`)."""

from typing import TYPE_CHECKING

from authsite.context import Services
from authsite.platform.registrations import Registered
from authsite.platform.settings import Settings

if TYPE_CHECKING:
    from pyramid.config import Configurator

_ON = Registered[bool]("answers to whether OpenID Connect is on")


def is_on(services: Services) -> bool:
    """Whether applications can sign people in here.

    It is decided when `authsite.oauth.oidc` is included, before the packages that ask for it to
    register their routes. A command decides as the stand-alone application does.
    """
    return any(_ON.of(services).values())


def is_on_with(settings: Settings, *, standalone: bool) -> bool:
    """`is_on` of an application with these settings: as set, or by default where it can be."""
    if settings.openid is None:
        return standalone and settings.openid_obstacle is None
    return settings.openid


def decide(config: "Configurator") -> bool:
    """Register what `is_on` returns; called once for each application."""
    settings, standalone = config.registry["authsite"].settings, config.registry["authsite.http"]
    on = is_on_with(settings, standalone=standalone.standalone)
    _ON.add(config, on)
    return on
