"""The settings of *Sign in with other providers* in ``docs/settings.md``."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeAlias

from authsite.platform.settings.secret import Secret

Preset: TypeAlias = Literal["google", "microsoft", "github", "gitlab", "oidc"]
TENANT = "{tenantid}"  # in the issuer of Microsoft Entra's common endpoints
_GUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Another provider with which users may sign in: ``authsite.providers.<name>.<key>``.

    ``icon``: the name of an own file, or None for the picture of the preset. ``tenants``: tenant
    ids of Microsoft Entra, or ``("*",)``. ``domains``: empty for all. ``extra``: further parameters
    of the authorization request.
    """

    name: str
    preset: Preset
    client_id: str
    client_secret: Secret
    issuer: str
    label: str
    icon: str | None = None
    scope: tuple[str, ...] = ("openid", "email", "profile")
    trust_email: bool = False
    create: bool = True
    link: Literal["ask", "off"] = "ask"
    domain_authority: bool = False
    session_expires_in: timedelta | None = None
    tenants: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()

    def issues(self, issuer: str) -> bool:
        """Whether an identity of this ``issuer`` is one of this provider."""
        if TENANT not in self.issuer:
            return issuer == self.issuer
        before, after = self.issuer.split(TENANT)
        return re.fullmatch(f"{re.escape(before)}{_GUID}{re.escape(after)}", issuer) is not None
