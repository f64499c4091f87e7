"""Reading ``[app:main]`` of an ini file, as ``pserve`` reads it."""

import configparser
from collections.abc import Mapping
from pathlib import Path

from .errors import InvalidSetting, SettingsError

FILE_KEY = "__file__"  # as in the global configuration of PasteDeploy
_MAX_DEPTH = 8  # of files in a chain of `use`; a longer chain is taken for a circle


def read_ini(path: str | Path) -> dict[str, str]:
    """The keys of ``[app:main]``, or of ``[app:name]`` for ``path#name``.

    ``%(here)s`` is the folder of the file, and ``use = config:other.ini`` takes the keys of
    another file first, both as PasteDeploy does it; ``use`` is then that of the other file.
    ``__file__`` is the absolute path of the file, see `folder_of`. Raises `SettingsError` if the
    file or the section does not exist or cannot be read; its message has no values.
    """
    name, _, section = str(path).partition("#")
    file = Path(name).absolute()
    return _read(file, section or "main", depth=1) | {FILE_KEY: str(file)}


def folder_of(settings: Mapping[str, object]) -> Path:
    """The folder that relative paths start from: that of the ini.

    ``settings`` come from `read_ini` or from a Pyramid application, whose ``__file__`` is that of
    PasteDeploy's global configuration. Without ``__file__``, it is the working directory.
    """
    file = settings.get(FILE_KEY)
    return Path(str(file)).absolute().parent if file else Path()


def _read(path: Path, name: str, depth: int) -> dict[str, str]:
    # Slow to import, and a server reads its ini before.
    from plaster import PlasterURL
    from plaster_pastedeploy import Loader

    # Not plaster.get_settings, which reads the metadata of all installed packages (50 ms).
    loader = Loader(PlasterURL("file+ini", path=str(path)))
    try:
        keys = dict(loader.get_settings(f"app:{name}"))
    except (configparser.Error, OSError, ValueError) as error:
        raise _error(path, _reason(error)) from None
    if not keys:
        raise _error(path, f"it has no section [app:{name}] with keys in it; add one")
    used = keys.get("use", "")
    if not used.startswith("config:"):
        return keys
    if depth == _MAX_DEPTH:
        raise _error(path, "its `use = config:…` goes round in a circle; remove one")
    other, _, section = used.removeprefix("config:").strip().partition("#")
    base = _read(path.parent / other, section or "main", depth + 1)
    return base | keys | {"use": base.get("use", "")}


def _reason(error: Exception) -> str:
    """What is wrong, without text of the file, which may contain passwords."""
    match error:
        case FileNotFoundError():
            return (
                "there is no such file; name one with --config or AUTHSITE_CONFIG, or let "
                "`authsite init --production` write a production.ini"
            )
        case OSError():
            return f"it cannot be read ({error.strerror}); name a file that this user may read"
        case configparser.InterpolationError():
            return f"[{error.section}] {error.option}: write %% for a %, or correct the %(name)s"
        case configparser.DuplicateOptionError():
            return f"line {error.lineno}: {error.option} stands twice in [{error.section}]"
        case configparser.DuplicateSectionError():
            return f"line {error.lineno}: [{error.section}] stands twice"
        case configparser.MissingSectionHeaderError():
            return f"line {error.lineno}: it must begin with a section such as [app:main]"
        case configparser.ParsingError():
            lines = ", ".join(str(number) for number, _ in error.errors)
            return f"line {lines}: write key = value, and indent a value's further lines"
        case UnicodeDecodeError():
            return "it is not text in UTF-8"
    return f"it cannot be read ({type(error).__name__})"


def _error(path: Path, message: str) -> SettingsError:
    return SettingsError([InvalidSetting(str(path), message)])
