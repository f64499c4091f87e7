"""Settings: read once from ini and environment into one frozen value."""

from .definitions import DEFINITIONS, Settings
from .domains import mail_domain
from .durations import duration
from .envfile import environment
from .errors import InvalidSetting, SettingsError
from .files import TEMPLATES, files_of
from .inifile import folder_of, read_ini
from .load import canonical_client, load, load_at_start
from .lookup import documented_key
from .secret import Secret, new_sealing_key, new_secret, revealed
from .service_urls import SmtpServer, smtp_server
from .sources import SourceValue
from .urls import is_file_name

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
