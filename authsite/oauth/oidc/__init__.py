"""OpenID Connect: signing keys, ID tokens and claims."""

from typing import TYPE_CHECKING

from authsite.oauth import API_TAG
from authsite.platform.http import cors
from authsite.platform.settings import InvalidSetting, SettingsError, documented_key

from .availability import decide
from .id_tokens import ADDED_CLAIMS, AddClaims
from .keys.stored import purge

if TYPE_CHECKING:
    from pyramid.config import Configurator

__all__ = ["API_TAG"]

JWKS = "/.well-known/jwks.json"


def add_claims(config: "Configurator", function: AddClaims) -> None:
    """Directive: ``function(ctx, account, scopes)`` returns more claims about a user.

    They are in the answer of the userinfo endpoint, and in ID tokens of clients whose ID tokens
    have the claims of the user. A claim that authsite sets itself is left out, with a warning in
    the log. ``scopes`` are those of the token. It is called at every such request, outside of a
    transaction.
    """
    ADDED_CLAIMS.add(config, function)


def _check_issuer(config: "Configurator") -> None:
    """Raise `SettingsError` unless the first `base-url` ends with the route prefix.

    It is the issuer, below which applications look for the metadata and the endpoints (OpenID
    Connect Discovery 1.0, section 4).
    """
    settings, prefix = config.registry["authsite"].settings, config.registry["authsite.http"].prefix
    first = settings.base_url[0] if settings.base_url else ""
    if first.endswith(prefix):
        return
    advice = (
        f"with openid on, the first one has to end with the route prefix: give {first}{prefix}, or "
        "set openid to off"
    )
    raise SettingsError([InvalidSetting(documented_key("base_url"), advice, value=repr(first))])


def includeme(config: "Configurator") -> None:
    """The route of the keys and the task that rotates them; neither with `openid` off."""
    config.add_directive("add_claims", add_claims)
    when = "a year after they have signed"
    config.add_cleanup("signing_keys", "Signing keys", purge, when=when)
    if not decide(config):
        return
    _check_issuer(config)
    config.add_background_task(
        "signing_keys",
        "authsite.oauth.oidc.keys.scheduled.make_job",
        enabled=config.registry["authsite"].settings.janitor,
    )
    config.add_route("authsite.jwks", JWKS, errors="json")
    cors.open_to_all(config, "authsite.jwks")
    config.scan(".api")
    config.include(".userinfo")
