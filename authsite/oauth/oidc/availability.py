"""Whether this application is an OpenID Provider (setting `openid`)."""

from typing import TYPE_CHECKING

from authsite.platform.context import Services
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


def why_off(settings: Settings) -> str:
    """Why applications cannot sign people in, and what to do: a clause for operators."""
    obstacle = settings.openid_obstacle
    if obstacle is None:
        return "the setting openid is off: set it to on"
    if obstacle.startswith("sealing-key"):
        return f"{obstacle}: run `authsite init`, which adds one"
    return (
        f"{obstacle}: set it to the address of this service, such as https://auth.example.org, or "
        "http://localhost:6543 on your own computer"
    )


def decide(config: "Configurator") -> bool:
    """Register what `is_on` returns; called once for each application."""
    settings, standalone = config.registry["authsite"].settings, config.registry["authsite.http"]
    on = is_on_with(settings, standalone=standalone.standalone)
    _ON.add(config, on)
    return on
