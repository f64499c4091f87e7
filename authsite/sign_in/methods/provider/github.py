"""GitHub: OAuth 2.0 without OpenID Connect, and its REST API.

"Authorizing OAuth apps" and "REST API endpoints for users" and "… for emails":
https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps,
https://docs.github.com/en/rest/users/users, https://docs.github.com/en/rest/users/emails
"""

from typing import Any, Final

from authsite.platform.settings.sections.providers import Provider

from .exchange import Exchange, text_in
from .failures import ProviderFailure, ProviderRefused
from .people import Person, usable_address, usable_name

PUBLIC: Final = "https://github.com"
_ACCEPT: Final = "application/vnd.github+json"


def authorization_endpoint(provider: Provider) -> str:
    """Where the browser goes; also of GitHub Enterprise."""
    return f"{_site(provider)}/login/oauth/authorize"


def token_endpoint(provider: Provider) -> str:
    """Where a code is redeemed."""
    return f"{_site(provider)}/login/oauth/access_token"


def issuers(provider: Provider) -> tuple[str, ...]:
    """What a return may name as ``iss``: the setting, or the issuer of GitHub's own metadata."""
    return provider.issuer, f"{_site(provider)}/login/oauth"


def person_of(exchange: Exchange, access_token: str) -> Person:
    """The person of an access token. Raises `ProviderRefused`."""
    provider = exchange.provider
    site = _site(provider)
    api = "https://api.github.com" if site == PUBLIC else f"{site}/api/v3"
    user = exchange.profile(f"{api}/user", access_token, _ACCEPT)
    if not isinstance(user, dict):
        raise ProviderRefused(
            ProviderFailure.PROFILE, provider, cause=f"{api}/user has no JSON object for us"
        )
    number = user.get("id")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**63:
        raise ProviderRefused(
            ProviderFailure.SUBJECT, provider, cause=f"{api}/user has no positive integer as `id`"
        )
    addresses = exchange.profile(f"{api}/user/emails?per_page=100", access_token, _ACCEPT)
    email = usable_address(_primary(addresses))
    return Person(
        issuer=provider.issuer,
        subject=str(number),
        email=email,
        verified=email is not None,
        said=True if email else None,
        name=usable_name(text_in(user, "name") or text_in(user, "login")),
    )


def _primary(addresses: Any) -> str | None:
    """The primary address, if it is verified. The list is missing without the scope for it."""
    found = addresses if isinstance(addresses, list) else []
    rows = [each for each in found if isinstance(each, dict) and each.get("primary") is True]
    verified = (text_in(each, "email") for each in rows if each.get("verified") is True)
    return next(verified, None)


def _site(provider: Provider) -> str:
    return provider.issuer.rstrip("/")
