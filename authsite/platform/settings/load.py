"""Loads `Settings` from the ini and the environment; refuses unsafe ones and logs warnings.

One `SettingsError` names all errors.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from . import urls as service_urls
from .definitions import (
    CLIENT_NAME,
    DEFINITIONS,
    PROVIDER_NAME,
    Settings,
    documented_key,
    hide_secrets,
    limit_name,
    localized_name,
)
from .errors import InvalidSetting, SettingsError
from .files import exposed, folder_errors, private_paths
from .providers import callback_error, make_providers
from .rate_limits import RATE_LIMITS
from .rules import REFUSED, REQUIRED, START, WARNED, WARNED_LATER
from .sections import Provider, ProxyClient
from .sources import SourceValue, environment, folder_of, read_sources, unknown_variables
from .unsafe_choices import broken_rules
from .urls import host_of, is_address
from .values import is_admin

_log = logging.getLogger("authsite.settings")


def load(ini: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    """The settings; raises `SettingsError` with every invalid and unknown key.

    ``ini`` has the keys as they are written (``authsite.base-url``); keys without the prefix are
    ignored. ``environ`` is what `environment` returns, or a mapping like it. Relative paths start
    from `folder_of` the ini.
    """
    folder = folder_of(ini)
    found, errors = read_sources(ini, environ, folder)
    values: dict[str, Any] = {name: _value(name, found.get(name), errors) for name in DEFINITIONS}
    if "mail_from" not in found:
        values["mail_from"] = _default_sender(values["base_url"])
    if values["database_url"] is not None:
        values["database_url"] = service_urls.relative_to(values["database_url"], folder)
    for name in ("mail_folder", "static_folder", "templates_folder"):
        if values[name] is not None:
            values[name] = str(folder / values[name])
    values["limit_values"] = _limit_values(found, errors)
    values["clients"] = _clients(found, errors)
    values["providers"] = _providers(values["providers"], found, errors)
    values["translated"] = _translated(found, errors)
    settings = Settings(**values)  # an invalid value is None; its error is in `errors`
    reported = {each.key for each in errors}
    errors += [each for each in _check(settings) if each.key not in reported]
    if errors:
        raise SettingsError(errors)
    return settings


def load_at_start(ini: dict[str, object]) -> Settings:
    """The settings of an application, from its ini file's values and the environment.

    Logs the warnings. Hides the secrets in the ``repr`` of ``ini``, which a host may print. Raises
    `SettingsError`.
    """
    environ = environment(folder_of(ini))
    settings = load(ini, environ)
    hide_secrets(ini)
    for text in start_warnings(settings, ini, environ):
        _log.warning(text)
    check_start(settings)
    return settings


def check_start(settings: Settings) -> None:
    """Raise `SettingsError` for settings with which no application may start.

    Commands that send no mail do not call this.
    """
    if errors := [*broken_rules(settings, START), *folder_errors(settings)]:
        raise SettingsError(errors)


def start_warnings(
    settings: Settings, ini: Mapping[str, object], environ: Mapping[str, str]
) -> list[str]:
    """The warnings of a start: unsafe choices, files that others may read, unknown variables."""
    paths = private_paths(settings, ini, environ)
    return [
        *rule_warnings(settings),
        *(f"{path}: {warning}" for path in paths if (warning := exposed(path))),
        *(
            f"{variable} is not a variable of authsite; docs/settings.md lists all of them"
            for variable in unknown_variables(environ)
        ),
    ]


def rule_warnings(settings: Settings) -> list[str]:
    """The unsafe choices of which a start warns."""
    later = (WARNED_LATER,) if settings.production else ()
    rules = broken_rules(settings, WARNED, REFUSED, *later)
    return [f"{each.key}: {each.message}" for each in rules]


def canonical_client(name: str) -> str:
    """The key of `Settings.clients` for a client's name, in which ``-`` and ``_`` are the same."""
    return name.replace("-", "_")


def _check(settings: Settings) -> Iterator[InvalidSetting]:
    """Errors of settings that are invalid together; an invalid setting is None here."""
    base_urls, domain = settings.base_url or (), settings.session_cookie_domain
    if domain and not all(f".{host_of(each)}".endswith(f".{domain}") for each in base_urls):
        yield InvalidSetting(
            documented_key("session_cookie_domain"),
            "no browser takes this cookie; give the host of base-url or a domain it ends with",
            value=repr(domain),
        )
    yield from _check_token_scopes(settings)
    if "terms_url" in settings.translated and not settings.terms_url:
        yield InvalidSetting(
            documented_key("terms_url"),
            "it is set for single languages only; set it for all other languages, too",
        )
    asked, kinds = settings.registration_fields or (), settings.login_identifiers or ()
    disabled = [each for each in asked if each != "name" and each not in kinds]
    if disabled:
        yield InvalidSetting(
            documented_key("registration_fields"),
            f"add {' and '.join(disabled)} to authsite.login-identifiers, or leave it out here",
            value=repr(" ".join(asked)),
        )
    if settings.registration == "domains" and settings.registration_domains == ():
        yield InvalidSetting(
            documented_key("registration_domains"),
            "it is not set, and registration is domains; give the domains whose addresses may"
            " register, such as corp.example",
        )
    primary = settings.database_url
    if settings.database_read_url and primary and primary.reveal().startswith("sqlite"):
        yield InvalidSetting(
            documented_key("database_read_url"),
            "database-url is a SQLite file, which has no standbys; leave it out, or give the"
            " primary on PostgreSQL as database-url",
        )
    if settings.providers and (message := callback_error(base_urls)):
        yield InvalidSetting(documented_key("base_url"), message, value=repr(base_urls[0]))
    if settings.production:
        yield from broken_rules(settings, REFUSED, REQUIRED)


def _check_token_scopes(settings: Settings) -> Iterator[InvalidSetting]:
    key, given = documented_key("personal_token_scopes"), settings.personal_token_scopes or ()
    scopes = settings.scopes or ()
    if admin := [each for each in given if is_admin(each)]:
        message = "leave it out: no personal access token may administer"
        yield InvalidSetting(key, message, value=repr(" ".join(admin)))
    elif scopes and (unknown := [each for each in given if each not in scopes]):
        message = f"authsite.scopes does not list them; give some of {', '.join(scopes)}"
        yield InvalidSetting(key, message, value=repr(" ".join(unknown)))


def _value(name: str, found: SourceValue | None, errors: list[InvalidSetting]) -> object:
    """The parsed value or the default of a setting; None, and one more error, if it is invalid."""
    if found is not None:
        return _parse(found, errors)
    definition = DEFINITIONS[name]
    if definition.missing is not None and all(each.key != definition.key for each in errors):
        errors.append(InvalidSetting(definition.key, f"it is not set; {definition.missing}"))
    return None if definition.default is None else definition.parse(definition.default)


def _parse(found: SourceValue, errors: list[InvalidSetting]) -> Any:
    try:
        return found.definition.parse(found.text)
    except ValueError as error:
        errors.append(found.error(str(error)))
        return None


def _limit_values(
    found: Mapping[str, SourceValue], errors: list[InvalidSetting]
) -> Mapping[str, str]:
    values = {name: limit.default for name, limit in RATE_LIMITS.items()}
    for name in values:
        if source_value := found.get(limit_name(name)):
            values[name] = _parse(source_value, errors)
    return MappingProxyType(values)


def _translated(
    found: Mapping[str, SourceValue], errors: list[InvalidSetting]
) -> Mapping[str, Mapping[str, Any]]:
    """The values for one language: attribute -> language -> value."""
    translated: dict[str, dict[str, Any]] = {}
    for name, each in found.items():
        if parts := localized_name(name):
            attribute, language = parts
            translated.setdefault(attribute, {})[language] = _parse(each, errors)
    return MappingProxyType(translated)


def _clients(
    found: Mapping[str, SourceValue], errors: list[InvalidSetting]
) -> Mapping[str, ProxyClient]:
    credentials: dict[str, dict[str, Any]] = {}
    for name, each in found.items():
        if parts := CLIENT_NAME.fullmatch(name):
            credentials.setdefault(parts[1], {})[parts[2]] = _parse(each, errors)
    reported = {each.key for each in errors}
    for client, pair in credentials.items():
        for missing in {"id", "secret"} - set(pair):
            key = f"authsite.clients.{client}.{missing}"
            variable = f"CLIENT_{client.upper()}_{missing.upper()}"
            if key not in reported:
                message = f"it is not set, but the other half is; give both (or {variable})"
                errors.append(InvalidSetting(key, message))
    return MappingProxyType(
        {client: ProxyClient(**pair) for client, pair in credentials.items() if len(pair) == 2}
    )


def _providers(
    names: tuple[str, ...] | None,
    found: Mapping[str, SourceValue],
    errors: list[InvalidSetting],
) -> tuple[Provider, ...]:
    parsed = {
        name: _parse(each, errors) for name, each in found.items() if PROVIDER_NAME.fullmatch(name)
    }
    providers, wrong = make_providers(names or (), parsed)
    reported = {each.key for each in errors}
    errors += [each for each in wrong if each.key not in reported]
    return providers


def _default_sender(base_urls: Sequence[str] | None) -> str:
    host = host_of(base_urls[0]) if base_urls else "localhost"
    return f"no-reply@{'localhost' if is_address(host) else host}"
