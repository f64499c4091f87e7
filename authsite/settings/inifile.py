"""Reading ``[app:main]`` of an ini file, as ``pserve`` reads it."""

import configparser
from pathlib import Path

from .errors import Problem, SettingsError

_DEEPEST = 8  # files that use one another; more is a circle


def read_ini(path: str | Path) -> dict[str, str]:
    """The keys of ``[app:main]``, or of ``[app:name]`` for ``path#name``.

    ``%(here)s`` is the folder of the file, and ``use = config:other.ini`` takes the keys of
    another file first, both as PasteDeploy does it. Raises `SettingsError` when the file or the
    section is not there or cannot be read; its message shows no value.
    """
    file, _, name = str(path).partition("#")
    return _read(Path(file), name or "main", depth=1)


def _read(path: Path, name: str, depth: int) -> dict[str, str]:
    import plaster  # slow, and a server gets its settings without it

    uri = plaster.PlasterURL("file+ini", path=str(path.absolute()))
    try:
        keys = dict(plaster.get_settings(uri, f"app:{name}"))
    except (configparser.Error, OSError, ValueError) as error:
        raise _error(path, _reason(error)) from None
    if not keys:
        raise _error(path, f"it has no section [app:{name}] with keys in it; add one")
    used = keys.get("use", "")
    if not used.startswith("config:"):
        return keys
    if depth == _DEEPEST:
        raise _error(path, "its `use = config:…` goes round in a circle; remove one")
    other, _, section = used.removeprefix("config:").strip().partition("#")
    return _read(path.parent / other, section or "main", depth + 1) | keys


def _reason(error: Exception) -> str:
    """What is wrong, without the text of the file: it may hold passwords."""
    match error:
        case FileNotFoundError():
            return "there is no such file; name one with --config or AUTHSITE_CONFIG"
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


def _error(path: Path, advice: str) -> SettingsError:
    return SettingsError([Problem(str(path), advice)])
