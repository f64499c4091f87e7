"""The issuer of a provider: what its discovery must announce, and what its ID tokens must name.

Microsoft Entra's endpoints for several directories announce an issuer with ``{tenantid}``, which
the directory of each user replaces. "microsoft identity platform and OpenID Connect", "Validate the
issuer": https://learn.microsoft.com/entra/identity-platform/access-tokens#validate-the-issuer
"""

import re
from collections.abc import Mapping
from typing import Any

from authsite.platform.settings.sections.providers import TENANT, Provider

from .exchange import text_in
from .failures import ProviderFailure

_GUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_SEVERAL = re.compile(r"/(?:common|organizations|\{tenantid\})/")
_DISCOVERY = "/.well-known/openid-configuration"


def discovery_url(provider: Provider) -> str:
    """The address of the discovery document (OpenID Connect Discovery 1.0, section 4)."""
    return provider.issuer.replace(TENANT, "common").rstrip("/") + _DISCOVERY


def announced_issuer(provider: Provider) -> str:
    """The ``issuer`` that the discovery document must have, character by character."""
    if provider.preset != "microsoft":
        return provider.issuer
    return _SEVERAL.sub(f"/{TENANT}/", provider.issuer)


def may_return(provider: Provider, announced: str, issuer: str) -> bool:
    """Whether a return with ``iss`` can be of this provider (RFC 9207, section 2.4)."""
    if provider.preset != "microsoft":
        return issuer == announced
    pattern = re.escape(announced).replace(re.escape(TENANT), _GUID)
    return re.fullmatch(pattern, issuer) is not None


def issuer_failure(
    provider: Provider, announced: str, claims: Mapping[str, Any]
) -> ProviderFailure | None:
    """Why an ID token is not of this provider; None if it is.

    The directory is compared with `tenants` alone: a template accepts every directory.
    """
    tenant = text_in(claims, "tid") or ""
    if provider.preset == "microsoft" and TENANT in announced:
        if not re.fullmatch(_GUID, tenant):
            return ProviderFailure.ISSUER
        announced = announced.replace(TENANT, tenant)
    if claims.get("iss") != announced:
        return ProviderFailure.ISSUER
    listed = not provider.tenants or "*" in provider.tenants or tenant in provider.tenants
    return None if listed else ProviderFailure.TENANT
