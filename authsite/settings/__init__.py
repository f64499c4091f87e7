"""Settings: read once from ini and environment into one frozen value."""

from .definitions import DEFINITIONS, Settings
from .durations import duration
from .envfile import assignment, env_file_path, environment, read_env_file
from .errors import InvalidSetting, SettingsError
from .files import TEMPLATES, exposed, files_of, folder_errors, private_paths
from .inifile import folder_of, read_ini
from .load import (
    canonical_client,
    check_start,
    load,
    load_at_start,
    rule_warnings,
    start_warnings,
)
from .lookup import documented_key
from .secret import Secret, new_secret, revealed
from .service_urls import SmtpServer, smtp_server
from .sources import read_sources, unknown_variables
from .unsafe_choices import RULES
from .urls import is_file_name

__all__ = [
    "DEFINITIONS",
    "RULES",
    "TEMPLATES",
    "InvalidSetting",
    "Secret",
    "Settings",
    "SettingsError",
    "SmtpServer",
    "assignment",
    "canonical_client",
    "check_start",
    "documented_key",
    "duration",
    "env_file_path",
    "environment",
    "exposed",
    "files_of",
    "folder_errors",
    "folder_of",
    "is_file_name",
    "load",
    "load_at_start",
    "new_secret",
    "private_paths",
    "read_env_file",
    "read_ini",
    "read_sources",
    "revealed",
    "rule_warnings",
    "smtp_server",
    "start_warnings",
    "unknown_variables",
]
