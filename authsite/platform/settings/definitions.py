"""`Settings`: the settings of all `sections` as one value."""

import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, fields, replace
from typing import Any

from authsite.platform.runtime.catalogs import LANGUAGES

from .definition import METADATA, PREFIX, Definition
from .errors import InvalidSetting, display_value
from .provider_values import NAME
from .rate_limits import RATE_LIMITS, rate, single_rate
from .secret import HiddenText
from .sections import (
    CLIENT,
    LOCALIZED,
    PROVIDER,
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


# Finds the definition of a key in any spelling, and suggests keys for an unknown one.


CLIENT_NAME = re.compile(r"clients_([a-z0-9](?:[a-z0-9_]*[a-z0-9])?)_(id|secret)")
_OF_PROVIDER = {key.replace("-", "_"): key for key in PROVIDER}
PROVIDER_NAME = re.compile(rf"providers_({NAME})_({'|'.join(_OF_PROVIDER)})")
LOCALIZED_NAME = re.compile(rf"({'|'.join(LOCALIZED)})_([a-z]{{2,3}}(?:_[a-z]{{2}})?)")
# A misspelled key with one of these words may have a secret as its value.
_SENSITIVE = re.compile(r"secret|pepper|pass|token|key|url|storage|client")


def normalize(key: str) -> str:
    """The one name, ``base_url``, of the keys ``Base-URL``, ``base_url`` and ``base.url``."""
    return re.sub(r"[-.]", "_", key.lower())


def limit_name(limit: str) -> str:
    """The normalized name of a rate limit's setting."""
    return f"limits_{normalize(limit)}"


LIMITS: Mapping[str, Definition] = {
    limit_name(name): Definition(
        single_rate if limit.growing_delay else rate,
        limit.default,
        limit.text,
        key=f"{PREFIX}limits.{name}",
    )
    for name, limit in RATE_LIMITS.items()
}


def documented_key(name: str) -> str:
    """The key for an attribute of `Settings`, as the documentation writes it, with prefix."""
    return DEFINITIONS[name].key


def find_definition(name: str) -> Definition | None:
    """The definition of a normalized name; None if there is no such setting."""
    if definition := DEFINITIONS.get(name) or LIMITS.get(name):
        return definition
    if found := localized_name(name):
        attribute, language = found
        return localized_definition(attribute, language)
    if provider := PROVIDER_NAME.fullmatch(name):
        key = _OF_PROVIDER[provider[2]]
        return replace(PROVIDER[key], key=f"{PREFIX}providers.{provider[1]}.{key}")
    client = CLIENT_NAME.fullmatch(name)
    if client is None:
        return None
    return replace(CLIENT[client[2]], key=f"{PREFIX}clients.{client[1]}.{client[2]}")


def localized_definition(attribute: str, language: str) -> Definition:
    """The definition of a setting of `LOCALIZED` for one language."""
    definition = DEFINITIONS[attribute]
    key = f"{definition.key}.{language}"
    return Definition(definition.parse, text=LOCALIZED[attribute], key=key)


def localized_name(name: str) -> tuple[str, str] | None:
    """The attribute and the language of ``footer_links_de``; None for another name."""
    parts = LOCALIZED_NAME.fullmatch(name)
    known = {each.lower(): each for each in LANGUAGES}
    return (parts[1], known[parts[2]]) if parts and parts[2] in known else None


def definition_of_key(key: str) -> Definition | None:
    """The definition of a key of the ini; None for a key without our prefix or an unknown one."""
    if not key.lower().startswith(PREFIX):
        return None
    return find_definition(normalize(key[len(PREFIX) :]))


def hide_secrets(ini: MutableMapping[str, object]) -> None:
    """Replace the secrets in ``ini`` by equal strings whose ``repr`` is hidden."""
    for key, value in ini.items():
        definition = definition_of_key(key)
        if definition and definition.secret and isinstance(value, str):
            ini[key] = HiddenText(value)


def unknown_key(key: str, name: str, text: str) -> InvalidSetting:
    """The error for a key that does not exist; it suggests the most similar existing key.

    The value is hidden if it may be a secret.
    """
    from difflib import get_close_matches  # only for a misspelled key

    if name.startswith("clients_"):
        message = "write authsite.clients.<name>.id and authsite.clients.<name>.secret"
        return InvalidSetting(key, message, value="(hidden)")
    if name.startswith("providers_"):
        return InvalidSetting(key, _advice_about_provider(name), value="(hidden)")
    if parts := LOCALIZED_NAME.fullmatch(name):
        message = f"there is no language {parts[2]}; there are {', '.join(LANGUAGES)}"
        return InvalidSetting(key, message, value=display_value(text, hidden=False))
    # Without the common beginning, by which a short name would be similar to every other.
    common = "limits_" if name.startswith("limits_") else ""
    if common:
        candidates = {**LIMITS, "limits_storage": DEFINITIONS["limits_storage"]}
        message = f"there is no such limit; there are {', '.join(RATE_LIMITS)}"
    else:
        candidates = dict(DEFINITIONS)
        message = "there is no such key; docs/settings.md lists all of them"
    endings = [each.removeprefix(common) for each in candidates]
    similar = get_close_matches(name.removeprefix(common), endings, n=1, cutoff=0.6)
    if not similar:
        return InvalidSetting(key, message, value="(hidden)")
    suggested = candidates[common + similar[0]]
    message = f"there is no such key; did you mean {suggested.key}?"
    hidden = suggested.secret or _SENSITIVE.search(name) is not None
    return InvalidSetting(key, message, value=display_value(text, hidden=hidden))


def _advice_about_provider(name: str) -> str:
    """What to write for an unknown key that begins with ``providers.``."""
    from difflib import get_close_matches

    if any(name.endswith(f"_{key}") for key in _OF_PROVIDER):
        return (
            "the name of a provider has at most 32 characters a-z and 0-9, without - and _: write"
            f" {PREFIX}providers.<name>.<key>"
        )
    _, provider, key = [*name.split("_", 2), ""][:3]
    if similar := get_close_matches(key, _OF_PROVIDER, n=1, cutoff=0.6):
        known = f"{PREFIX}providers.{provider}.{_OF_PROVIDER[similar[0]]}"
        return f"there is no such key; did you mean {known}?"
    return f"there is no such key of a provider; there are {', '.join(PROVIDER)}"
