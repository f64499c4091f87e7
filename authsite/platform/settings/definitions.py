"""`Settings`: the settings of all `sections` as one value."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from .definition import METADATA, PREFIX, Definition
from .sections import (
    Accounts,
    Administration,
    Login,
    Mail,
    OpenId,
    Operations,
    Pages,
    Provider,
    Providers,
    SecondFactors,
    Storage,
    Tokens,
)
from .urls import host_of, is_loopback


@dataclass(frozen=True, kw_only=True)
class Settings(
    Storage,
    Login,
    SecondFactors,
    Tokens,
    OpenId,
    Providers,
    Administration,
    Accounts,
    Pages,
    Mail,
    Operations,
):
    """All settings, checked. An attribute is the key with ``_`` for ``-`` and ``.``."""

    def provider(self, name: str) -> Provider | None:
        """The provider of this name."""
        return next((each for each in self.providers if each.name == name), None)

    @property
    def openid_obstacle(self) -> str | None:
        """What OpenID Connect is missing in the settings: a clause for people; None if nothing."""
        first = self.base_url[0] if self.base_url else ""
        if not first:
            return "base-url is not set, which is the name of this service for its clients"
        if not first.startswith("https://") and not is_loopback(host_of(first)):
            return "base-url does not begin with https://"
        if self.production and not self.sealing_key:
            return "sealing-key is not set, under which the keys of ID tokens are stored"
        return None

    def localized(self, name: str, language: str) -> Any:
        """The value of a setting of `LOCALIZED` for ``language``, else the one for all."""
        return self.translated.get(name, {}).get(language, getattr(self, name))

    @property
    def registration_open(self) -> bool:
        """Whether there is a registration page and endpoint: for those who are not invited."""
        return self.registration in ("on", "domains")

    @property
    def invitations_open(self) -> bool:
        """Whether invitations are made and accepted."""
        return self.registration != "off"

    @property
    def confirmation_required(self) -> bool:
        """Whether a user may do nothing before the e-mail address is confirmed.

        Variant B requires it if it is so set, and `registration = domains` in both variants: an
        address that is not confirmed says nothing about its domain.
        """
        forced = self.variant == "B" and self.require_email_confirmation
        return forced or self.registration == "domains"

    @property
    def confirms_as_in_variant_b(self) -> bool:
        """Whether the links, mails and errors about an unconfirmed address are those of Variant B.

        In Variant A they are, too, where confirmation is required: a user who cannot log in asks
        for the link without a token.
        """
        return self.variant == "B" or self.confirmation_required


# In the order of `docs/settings.md`.
SECTIONS = Settings.__bases__
DEFINITIONS: Mapping[str, Definition] = {
    each.name: replace(definition, key=PREFIX + (definition.key or each.name.replace("_", "-")))
    for section in SECTIONS
    for each in fields(section)
    if (definition := each.metadata.get(METADATA))
}
