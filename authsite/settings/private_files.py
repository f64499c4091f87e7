"""Files with secrets or mails, and a warning if other users may read them."""

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from .definitions import Settings
from .envfile import env_file_path
from .inifile import FILE_KEY, folder_of
from .lookup import definition_of_key
from .service_urls import sqlite_file

_PASSWORD = re.compile(r"://[^/@]*:[^/@]+@")  # in a URL


def private_paths(
    settings: Settings, ini: Mapping[str, object], environ: Mapping[str, str]
) -> Iterator[Path]:
    """The paths that only their owner should be able to read (ASVS 13.3.1); some may not exist.

    These are the ini file if it contains a secret, the environment file, the file of a SQLite
    database, and the mail folder if mails are written to files.
    """
    file = ini.get(FILE_KEY)
    if file and any(_is_secret(key, str(value)) for key, value in ini.items() if value):
        yield Path(str(file))
    yield env_file_path(environ, folder_of(ini))
    if database := sqlite_file(settings.database_url.reveal()):
        yield database
    if settings.mail_driver == "file":
        yield Path(settings.mail_folder)


def exposed(path: Path) -> str | None:
    """If other users may read ``path``: a warning with the command that prevents it; else None."""
    try:
        status = path.stat()
    except OSError:
        return None  # missing, or not accessible to this user
    mode = stat.S_IMODE(status.st_mode)
    wanted = "700" if stat.S_ISDIR(status.st_mode) else "600"
    return f"others may read it (mode {mode:04o}): chmod {wanted} {path}" if mode & 0o077 else None


def _is_secret(key: str, text: str) -> bool:
    definition = definition_of_key(key)
    # A URL is a secret only if it contains a password; that in development.ini does not.
    return (
        definition is not None
        and definition.secret
        and ("://" not in text or _PASSWORD.search(text) is not None)
    )
