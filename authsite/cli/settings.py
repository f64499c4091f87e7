"""``authsite settings``: the effective value of each setting, and where it comes from."""

import os
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import click

from authsite.platform.settings import (
    DEFINITIONS,
    InvalidSetting,
    Secret,
    Settings,
    SettingsError,
    SourceValue,
    environment,
    folder_of,
    load,
    read_ini,
)
from authsite.platform.settings.durations import format_duration
from authsite.platform.settings.envfile import env_file_path
from authsite.platform.settings.inifile import FILE_KEY
from authsite.platform.settings.lookup import find_definition, limit_name, normalize, unknown_key
from authsite.platform.settings.sections import PROVIDER
from authsite.platform.settings.sources import read_sources

from .shared import config_path, examples, ini_option, json_option, print_json, print_table

HIDDEN = "(hidden)"
DEFAULT = "default"


class Shown(NamedTuple):
    """A setting: its key, its value as text (None if it has none), and where that comes from."""

    key: str
    value: str | None
    source: str


@click.command(
    epilog=examples(
        "authsite settings",
        "authsite settings base-url",
        "authsite settings limits.login-account --json",
    )
)
@click.argument("key", required=False)
@ini_option
@json_option
def settings(key: str | None, config: str | None, as_json: bool) -> None:
    """Show what the settings are.

    Each setting, or KEY alone, with the value in effect and where it comes from: a line of the ini,
    a variable, a file, or the default. Secrets are hidden. Of KEY alone, also what it means.
    """
    try:
        ini = read_ini(config_path(config))
        shown = {normalize(each.key): each for each in _all_settings(ini)}
        if key is not None:
            found = _find(shown, key)
            if as_json:
                return print_json(found._asdict())
            shown = {"": found}
    except SettingsError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        return print_json({"settings": [each._asdict() for each in shown.values()]})
    rows = [(key, value or "–", source) for key, value, source in shown.values()]
    print_table(("key", "value", "from"), rows, empty="")
    if key is not None and (definition := find_definition(_name(key))):
        click.echo(f"\n{click.wrap_text(definition.plain_text)}")


def _find(shown: Mapping[str, Shown], key: str) -> Shown:
    """The setting with this key, in any spelling. Raises `SettingsError` for an unknown one."""
    name = _name(key)
    if name in shown:
        return shown[name]
    if definition := find_definition(name):  # of a client that is not set
        message = f"it is not set; {definition.missing or 'docs/settings.md describes it'}"
        raise SettingsError([InvalidSetting(key, message)])
    error = unknown_key(key, name, "")
    raise SettingsError([InvalidSetting(key, error.message)])


def _name(key: str) -> str:
    return normalize(key).removeprefix("authsite_")


def _all_settings(ini: dict[str, str]) -> Iterator[Shown]:
    """Every setting, in the order of the documentation; then limits, providers and clients."""
    folder = folder_of(ini)
    environ = environment(folder)
    cfg = load(ini, environ)
    found, _ = read_sources(ini, environ, folder)
    for name, definition in DEFINITIONS.items():
        value = getattr(cfg, name)
        yield _shown(definition.key, name, _hidden(value, cfg, name), found, ini)
    for limit, rate in cfg.limit_values.items():
        yield _shown(f"authsite.limits.{limit}", limit_name(limit), rate, found, ini)
    for provider in cfg.providers:
        for key in PROVIDER:
            name = normalize(f"providers.{provider.name}.{key}")
            value = found[name].text if name in found else getattr(provider, normalize(key))
            text = HIDDEN if PROVIDER[key].secret else _as_text(value)
            yield _shown(f"authsite.providers.{provider.name}.{key}", name, text, found, ini)
    for name, given in found.items():
        if name.startswith("clients_"):
            value = HIDDEN if given.definition.secret else given.text
            yield _shown(given.definition.key, name, value, found, ini)


def _shown(
    key: str,
    name: str,
    value: str | None,
    found: Mapping[str, SourceValue],
    ini: Mapping[str, str],
) -> Shown:
    given = found.get(name)
    source = _source(given.source, ini) if given else DEFAULT
    return Shown(key.removeprefix("authsite."), value, source)


def _hidden(value: object, cfg: Settings, name: str) -> str | None:
    """The value as text; a secret that is set is hidden."""
    if DEFINITIONS[name].secret:
        is_set = bool(value) and value is not None
        return HIDDEN if is_set else None
    return _as_text(value)


def _as_text(value: object) -> str | None:
    """A value of `Settings` in the notation of the ini; None for none."""
    match value:
        case None | () | "":
            return None
        case bool():
            return "on" if value else "off"
        case timedelta():
            return format_duration(value)
        case tuple():
            return " ".join(filter(None, map(_as_text, value)))
        case Mapping():
            return "\n".join(f"{name}: {text}" for name, text in value.items()) or None
        case Secret():
            return HIDDEN
    return str(value)


def _source(source: str, ini: Mapping[str, str]) -> str:
    """Where a value comes from: ``source`` is a key of the ini, or a variable."""
    folder = folder_of(ini)
    if source in ini:
        path = Path(ini[FILE_KEY])
        number = _line_of(path, source)
        return f"{path}, line {number}" if number else f"{path} (by its `use`)"
    variable = f"variable {source}"
    if source.endswith("_FILE"):
        path = folder / environment(folder)[source]
        return f"file {path} ({variable})"
    if source in os.environ:
        return variable
    return f"{variable} in {env_file_path(os.environ, folder)}"


def _line_of(path: Path, key: str) -> int | None:
    """The line of the ini that sets ``key`` in its section ``[app:…]``."""
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("["):
            inside = line.startswith("[app:")
        elif inside and re.match(rf"{re.escape(key)}\s*[=:]", line, re.IGNORECASE):
            return number
    return None
