"""Makes the `Provider` values of the settings, and says what is missing or wrong."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from .definitions import PROVIDER_NAME
from .errors import InvalidSetting
from .sections.providers import (
    PRESETS,
    PROVIDER,
    TENANT,
    Preset,
    Provider,
    has_several_tenants,
)
from .urls import host_of, is_loopback

_WHERE = "copy it from the registration of authsite at the provider"


def make_providers(
    names: tuple[str, ...], parsed: Mapping[str, Any]
) -> tuple[tuple[Provider, ...], list[InvalidSetting]]:
    """The providers with these names, and what is wrong with them.

    ``parsed``: the values by normalized name; None is one that is invalid, which is an error
    elsewhere. Keys of a provider that is not named count for nothing.
    """
    made, errors = [], []
    for name in names:
        prefix = f"providers_{name}_"
        given = {
            key.removeprefix(prefix): value
            for key, value in parsed.items()
            if key.startswith(prefix) and PROVIDER_NAME.fullmatch(key)
        }
        values = _values(name, given)
        wrong = list(_errors(name, given, values))
        errors += wrong
        if not wrong and None not in given.values():
            made.append(Provider(**values))
    errors += shared_issuer_errors(made)
    return tuple(made), errors


def _values(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values with their defaults, those of the preset included."""
    named: Preset = next((each for each in PRESETS if each == name), "oidc")
    preset: Preset = given.get("preset") or named
    of_preset = {key: value for key, value in PRESETS[preset]._asdict().items() if value}
    return {"name": name, "label": name, "preset": preset, **of_preset, **given}


def _errors(
    name: str, given: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[InvalidSetting]:
    """What is missing, and what does not go with another key. What is invalid is None."""

    def error(key: str, message: str) -> InvalidSetting:
        return InvalidSetting(f"authsite.providers.{name}.{key}", message)

    for key in ("client-id", "client-secret"):
        if key.replace("-", "_") not in given:
            file = " (or the file with it, as a variable …_FILE)" if PROVIDER[key].secret else ""
            yield error(key, f"it is not set, but authsite.providers names {name}; {_WHERE}{file}")
    if "issuer" not in values:
        yield error(
            "issuer",
            "it is not set; give the URL of the provider, such as https://idp.example.org, or set"
            f" authsite.providers.{name}.preset to {', '.join(list(PRESETS)[:-1])}",
        )
    if given.get("preset", values["preset"]) is None:
        return  # what follows depends on it
    scope = values["scope"]
    if values["preset"] != "github" and scope is not None and "openid" not in scope:
        yield error("scope", "add openid: without it the provider sends no ID token")
    tenants, issuer = given.get("tenants", ()), values.get("issuer")
    if tenants and values["preset"] != "microsoft":
        yield error("tenants", "leave it out: only providers with preset = microsoft have tenants")
    elif tenants == () and issuer and has_several_tenants(values["preset"], issuer):
        yield error(
            "tenants",
            "it is not set, so users of every directory of Microsoft Entra could come; give the"
            " tenant ids of those that may, or * for all, or set issuer to that of one directory",
        )


def shared_issuer_errors(providers: Iterable[Provider]) -> Iterator[InvalidSetting]:
    """An issuer that two providers share, of which one limits who may come.

    An identity is one of the issuer, whatever button its person presses: the other provider would
    let everybody in.
    """
    for one, other in combinations(providers, 2):
        limited = next((each for each in (one, other) if each.domains), None)
        if limited is None or not _share_issuer(one, other):
            continue
        free = other if limited is one else one
        yield InvalidSetting(
            f"authsite.providers.{limited.name}.domains",
            f"the provider {free.name} has the same issuer ({free.issuer}), so a person whom"
            f" {limited.name} refuses could come by {free.name}; remove one of the two from"
            f" authsite.providers, or authsite.providers.{limited.name}.domains",
        )


def _share_issuer(one: Provider, other: Provider) -> bool:
    """Whether one identity may come from both; see `Provider.issues` about several directories."""
    issuers = one.announced_issuer, other.announced_issuer
    if issuers[0] == issuers[1]:
        open_to = set(one.tenants) & set(other.tenants) or "*" in (*one.tenants, *other.tenants)
        return TENANT not in issuers[0] or bool(open_to)
    for each, single in ((one, other.announced_issuer), (other, one.announced_issuer)):
        if TENANT in each.announced_issuer and each.issues(single):
            return "*" in each.tenants or any(f"/{tenant}" in single for tenant in each.tenants)
    return False


def callback_error(base_urls: tuple[str, ...] | None) -> str | None:
    """Why no provider can send a person back to us; None if it can."""
    if base_urls and not (base_urls[0].startswith("https:") or is_loopback(host_of(base_urls[0]))):
        return (
            "providers send people back to the first address, for which they need https (http on"
            " localhost alone); give an https address first, or remove authsite.providers"
        )
    return None
