"""Loads the settings when an application starts; refuses unsafe ones and logs warnings."""

import logging
from collections.abc import Mapping

from .definitions import Settings
from .envfile import environment
from .errors import SettingsError
from .folders import folder_errors
from .inifile import folder_of
from .load import load
from .lookup import hide_secrets
from .private_files import exposed, private_paths
from .rules import REFUSED, START, WARNED
from .sources import unknown_variables
from .unsafe_choices import broken_rules

_log = logging.getLogger("authsite.settings")


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
    return [f"{each.key}: {each.message}" for each in broken_rules(settings, WARNED, REFUSED)]
