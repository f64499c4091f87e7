"""The checks of ``authsite doctor`` that ask the other providers."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from authsite.platform.finding import Finding

from .findings import line

if TYPE_CHECKING:
    from authsite.platform.context import Services
    from authsite.platform.settings.sections import Provider


def provider_findings(services: "Services") -> Iterator[Finding]:
    """For each provider the redirect URI to register, and whether it answers."""
    cfg = services.settings
    if not cfg.providers:
        return
    from authsite.sign_in.methods.provider.protocol import return_url

    for provider in cfg.providers:
        subject = f"providers.{provider.name}"
        base = cfg.base_url[0] if cfg.base_url else "<base-url>"
        uri = return_url(base, provider)
        yield line("provider-redirect" if cfg.base_url else "provider-address", subject, uri=uri)
        if provider.preset == "microsoft" and provider.domains and not provider.domain_authority:
            yield line("provider-edov", subject)
        if provider.preset != "github":
            yield _answer(services, provider, subject)


def _answer(services: "Services", provider: "Provider", subject: str) -> Finding:
    """Whether discovery and keys can be read."""
    from authsite.sign_in.methods.provider.documents import documents_of
    from authsite.sign_in.methods.provider.exchange import Exchange
    from authsite.sign_in.methods.provider.failures import ProviderRefused

    exchange, documents = Exchange(services, provider), documents_of(services, provider)
    try:
        discovery = documents.discovery(exchange)
        keys = documents.keys(exchange, discovery.jwks_uri)
    except ProviderRefused as error:
        return line("provider-unusable", subject, cause=error.cause, issuer=provider.issuer)
    if not keys:
        cause = f"{discovery.jwks_uri} has no keys"
        return line("provider-unusable", subject, cause=cause, issuer=provider.issuer)
    return line("provider-answers", subject, count=len(keys))
