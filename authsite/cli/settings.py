"""``authsite settings``: the effective value of each setting, and where it comes from."""

from collections.abc import Mapping
from typing import Any

import click

from authsite.platform.command_line.shared import (
    config_path,
    examples,
    ini_option,
    json_option,
    print_json,
    print_table,
)
from authsite.platform.settings import (
    InvalidSetting,
    SettingsError,
    environment,
    folder_of,
    load,
    read_ini,
)
from authsite.platform.settings.definitions import find_definition, normalize, unknown_key
from authsite.platform.settings.shown import Shown, all_settings


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
        cfg = load(ini, environment(folder_of(ini)))
        shown = {normalize(each.key): each for each in all_settings(cfg, ini)}
        if key is not None:
            found = _find(shown, key)
            if as_json:
                return print_json(_facts(found))
            shown = {"": found}
    except SettingsError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        return print_json({"settings": [_facts(each) for each in shown.values()]})
    rows = [(each.key, each.value or "–", each.source) for each in shown.values()]
    print_table(("key", "value", "from"), rows, empty="")
    if key is not None and (definition := find_definition(_name(key))):
        click.echo(f"\n{click.wrap_text(definition.plain_text)}")


def _facts(shown: Shown) -> dict[str, Any]:
    return {"key": shown.key, "value": shown.value, "source": shown.source}


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
