"""The device grant: a program or device without a browser (RFC 8628)."""

from typing import TYPE_CHECKING

from authsite.oauth import API_TAG
from authsite.oauth.oidc.availability import is_on
from authsite.platform.user_data import UserData

from .service import DeviceCode, purge

if TYPE_CHECKING:
    from pyramid.config import Configurator

__all__ = ["API_TAG"]


def includeme(config: "Configurator") -> None:
    """The table, its cleanup, and the endpoint; that is not there with `openid` off."""
    config.add_user_data(UserData("device_codes", DeviceCode))
    config.add_cleanup("device_codes", "Device codes", purge, when="expired a day ago")
    if not is_on(config.registry["authsite"]):
        return
    config.add_route("authsite.oauth.device", "/v1/oauth/device", errors="oauth")
    config.scan(".api")
