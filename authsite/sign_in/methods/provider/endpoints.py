"""The addresses of a provider: from its discovery, or those of GitHub."""

from typing import NamedTuple

from authsite.platform.settings.sections.providers import Provider

from . import github
from .documents import Discovery, documents_of
from .exchange import Exchange


class Endpoints(NamedTuple):
    """Where to go and to ask. ``basic``: with HTTP Basic authentication.

    ``discovery`` is None for GitHub, which has no OpenID Connect.
    """

    provider: Provider
    authorization: str
    token: str
    basic: bool = False
    discovery: Discovery | None = None

    def returned_issuer(self, issuer: str | None) -> bool:
        """Whether a return may have this ``iss``, or none (RFC 9207, section 2.4)."""
        if self.discovery is None:
            return issuer is None or issuer in github.issuers(self.provider)
        if issuer is None:
            return not self.discovery.sends_issuer
        return self.provider.issues(issuer)


def endpoints_of(exchange: Exchange) -> Endpoints:
    """The addresses of the provider, which may be asked for them. Raises `ProviderRefused`."""
    provider = exchange.provider
    if provider.preset == "github":
        return Endpoints(
            provider, github.authorization_endpoint(provider), github.token_endpoint(provider)
        )
    found = documents_of(exchange.services, provider).discovery(exchange)
    return Endpoints(
        provider, found.authorization_endpoint, found.token_endpoint, found.basic, found
    )
