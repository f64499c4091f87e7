"""The issuer of a provider: where its discovery is, and what its ID tokens must name.

Microsoft Entra's endpoints for several directories announce an issuer with ``{tenantid}``, which
the directory of each user replaces ("Access tokens in the Microsoft identity platform", "Validate
the issuer": https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens).
"""

from collections.abc import Mapping
from typing import Any

from authsite.platform.settings.sections.providers import TENANT, Provider

from .exchange import text_in
from .failures import ProviderFailure

_DISCOVERY = "/.well-known/openid-configuration"


def discovery_url(provider: Provider) -> str:
    """The address of the discovery document (OpenID Connect Discovery 1.0, section 4)."""
    return provider.issuer.replace(TENANT, "common").rstrip("/") + _DISCOVERY


def issuer_failure(provider: Provider, claims: Mapping[str, Any]) -> ProviderFailure | None:
    """Why an ID token is not of this provider; None if it is.

    With several directories the issuer must be that of the token's own ``tid``. A template accepts
    every directory, so ``tid`` is compared with `tenants`.
    """
    issuer, tenant = text_in(claims, "iss") or "", text_in(claims, "tid") or ""
    expected = provider.announced_issuer.replace(TENANT, tenant)
    if issuer != expected or not provider.issues(issuer):
        return ProviderFailure.ISSUER
    listed = not provider.tenants or "*" in provider.tenants or tenant in provider.tenants
    return None if listed else ProviderFailure.TENANT
