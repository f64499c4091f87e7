"""Settings: read once from ini and environment into one frozen value, ``request.cfg``."""

import logging
from typing import TYPE_CHECKING, Any

from .checks import cautions
from .durations import duration
from .envfile import assignment, env_file_path, environment
from .errors import Problem, SettingsError
from .fields import ProxyClient, Settings
from .inifile import read_ini
from .known import hide_secrets
from .load import canonical_client, load
from .secret import Secret
from .services import SmtpServer, smtp_server
from .sources import unknown_variables

if TYPE_CHECKING:
    from pyramid.config import Configurator

__all__ = [
    "Problem",
    "ProxyClient",
    "Secret",
    "Settings",
    "SettingsError",
    "SmtpServer",
    "assignment",
    "canonical_client",
    "cautions",
    "duration",
    "env_file_path",
    "environment",
    "load",
    "read_ini",
    "smtp_server",
    "unknown_variables",
]

_log = logging.getLogger(__name__)


def includeme(config: "Configurator") -> None:
    """``request.cfg`` and ``registry["authsite.settings"]``; raises `SettingsError`."""
    if not isinstance(config.registry.get("authsite.settings"), Settings):
        environ = environment()
        settings = load(config.registry.settings, environ)
        hide_secrets(config.registry.settings)
        config.registry["authsite.settings"] = settings
        for text in cautions(settings):
            _log.warning(text)
        for variable in unknown_variables(environ):
            _log.warning("%s means nothing to authsite; docs/settings.md lists all", variable)
    config.add_request_method(_cfg, "cfg", reify=True)


def _cfg(request: Any) -> Settings:
    settings: Settings = request.registry["authsite.settings"]
    return settings
