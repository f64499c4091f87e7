"""Settings: read once from ini and environment into one frozen value."""

from .definitions import DEFINITIONS, Settings, documented_key
from .errors import InvalidSetting, SettingsError
from .files import TEMPLATES, files_of
from .load import canonical_client, load, load_at_start
from .secret import Secret, new_sealing_key, new_secret, revealed
from .sources import SourceValue, environment, folder_of, read_ini
from .urls import SmtpServer, is_file_name, smtp_server
from .values import duration, mail_domain

__all__ = [
    "DEFINITIONS",
    "TEMPLATES",
    "InvalidSetting",
    "Secret",
    "Settings",
    "SettingsError",
    "SmtpServer",
    "SourceValue",
    "canonical_client",
    "documented_key",
    "duration",
    "environment",
    "files_of",
    "folder_of",
    "is_file_name",
    "load",
    "load_at_start",
    "mail_domain",
    "new_sealing_key",
    "new_secret",
    "read_ini",
    "revealed",
    "smtp_server",
]
