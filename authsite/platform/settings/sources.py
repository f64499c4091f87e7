"""The sources of the settings, and their precedence.

First ``AUTHSITE_<KEY>``, or for a secret the file that ``AUTHSITE_<KEY>_FILE`` names (K02); then
the variables that Apiato uses; then the ini.
"""

import configparser
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from authsite.platform.runtime.lines import described

from .definition import PREFIX, Definition
from .definitions import CLIENT_NAME, DEFINITIONS, find_definition, normalize, unknown_key
from .errors import InvalidSetting, SettingsError, display_value

VARIABLE_PREFIX = "AUTHSITE_"
_FILE = "_FILE"
_MAX_FILE = 65536  # bytes; also bounds endless files such as /dev/zero
# Variables that authsite reads and that are not settings.
_NOT_SETTINGS = {
    "AUTHSITE_CONFIG",
    "AUTHSITE_ENV_FILE",
    "AUTHSITE_MAIL_COPIES",
    "AUTHSITE_METRICS_FOLDER",
}
_OF_TESTS = "AUTHSITE_TEST_"
_SPECIFIED = {each.variable: name for name, each in DEFINITIONS.items() if each.variable}
_SPECIFIED_CLIENT = re.compile(r"CLIENT_[A-Z0-9_]+_(ID|SECRET)")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# An empty value, perhaps of a variable that was not expanded, would switch off a protection.
_NEVER_EMPTY = {"secret", "password_pepper"}


@dataclass(frozen=True, slots=True)
class SourceValue:
    """The text of a setting and its source: a key of the ini or a variable."""

    name: str  # normalized
    definition: Definition
    text: str
    source: str

    def error(self, message: str) -> InvalidSetting:
        """The error about this value."""
        value = display_value(self.text, hidden=self.definition.secret) if self.text else None
        return InvalidSetting(self.definition.key, message, self.source, value)


def read_sources(
    ini: Mapping[str, object], environ: Mapping[str, str], folder: Path
) -> tuple[dict[str, SourceValue], list[InvalidSetting]]:
    """The unparsed value with the highest precedence for each normalized name, and the errors.

    A relative path in a variable ``…_FILE`` starts from ``folder``. An empty value counts as not
    set; for a secret it is an error.
    """
    found: dict[str, SourceValue] = {}
    errors: list[InvalidSetting] = []
    for source in (_from_ini(ini), _from_specified(environ), _from_variables(environ, folder)):
        for value in source:
            if isinstance(value, InvalidSetting):
                errors.append(value)
            elif value.text:
                found[value.name] = value
            elif value.name in _NEVER_EMPTY or CLIENT_NAME.fullmatch(value.name):
                advice = value.definition.missing or "give a value or remove it"
                errors.append(value.error(f"it is empty; {advice}"))
    for name, value in list(found.items()):
        if control := _UNPRINTABLE.search(value.text):
            message = (
                f"give text in UTF-8 without control characters, such as {described(control[0])}"
            )
            errors.append(value.error(message))
            del found[name]
    return found, errors


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """The ``AUTHSITE_*`` variables that authsite does not know, sorted; probably misspelled."""
    return sorted(
        variable
        for variable in environ
        if variable.startswith(VARIABLE_PREFIX)
        and not variable.startswith(_OF_TESTS)
        and variable not in _NOT_SETTINGS
        and _definition_of(variable) is None
    )


def _from_ini(ini: Mapping[str, object]) -> Iterator[SourceValue | InvalidSetting]:
    spellings: dict[str, str] = {}
    for key, raw in ini.items():
        if not key.lower().startswith(PREFIX):
            continue
        name, text = normalize(key[len(PREFIX) :]), _as_text(raw)
        definition = find_definition(name)
        if definition is None:
            yield unknown_key(key, name, text)
            continue
        value = SourceValue(name, definition, text, key)
        if name in spellings:
            yield value.error(f"{spellings[name]} is the same key; keep one")
        else:
            spellings[name] = key
            yield value


def _from_specified(environ: Mapping[str, str]) -> Iterator[SourceValue]:
    for variable, text in environ.items():
        name = _SPECIFIED.get(variable)
        if _SPECIFIED_CLIENT.fullmatch(variable):
            name = "clients_" + variable.removeprefix("CLIENT_").lower()
        definition = find_definition(name) if name else None
        if name and definition:
            yield SourceValue(name, definition, text.strip(), variable)


def _from_variables(
    environ: Mapping[str, str], folder: Path
) -> Iterator[SourceValue | InvalidSetting]:
    for variable, text in environ.items():
        setting = _definition_of(variable)
        if setting is None:
            continue
        name, definition = setting
        if variable == VARIABLE_PREFIX + name.upper():
            yield SourceValue(name, definition, text.strip(), variable)
        elif variable.removesuffix(_FILE) in environ:
            message = f"{variable.removesuffix(_FILE)} is set too; keep one of the two"
            yield InvalidSetting(definition.key, message, variable)
        else:
            try:
                yield SourceValue(name, definition, _read_secret(folder / text), variable)
            except ValueError as error:
                yield InvalidSetting(definition.key, str(error), variable, repr(text))


def _definition_of(variable: str) -> tuple[str, Definition] | None:
    """The normalized name and the definition for ``AUTHSITE_<KEY>`` or ``AUTHSITE_<KEY>_FILE``."""
    if not variable.startswith(VARIABLE_PREFIX) or variable != variable.upper():
        return None
    name = variable.removeprefix(VARIABLE_PREFIX).lower()
    if definition := find_definition(name):
        return name, definition
    name = name.removesuffix(_FILE.lower())
    definition = find_definition(name)
    return (name, definition) if definition and definition.secret else None


def _read_secret(path: Path) -> str:
    """The text of a secret file, stripped; raises `ValueError` with advice."""
    try:
        with open(path, "rb") as file:
            content = file.read(_MAX_FILE + 1)
    except OSError as error:
        raise ValueError(
            f"the file cannot be read ({error.strerror}); name one that this user may read"
        ) from None
    except ValueError:
        raise ValueError("that is not the name of a file") from None
    if len(content) > _MAX_FILE:
        raise ValueError("the file is larger than 64 KiB; name the file with the secret alone")
    try:
        text = content.decode().strip()
    except UnicodeDecodeError:
        raise ValueError("the file is not text in UTF-8") from None
    if not text:
        raise ValueError("the file is empty; write the secret into it")
    return text


def _as_text(value: object) -> str:
    """A value of a host application's settings, which may be of another type, as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return str(value).strip()


# The environment: the variables of the process, and those of the environment file.
#
# ``authsite init`` writes the file; every command and the server read it. Its lines are
# ``KEY=value``; ``#`` starts a comment; a value may be in quotes.


# In the folder of the ini.
BESIDE_INI, DEFAULT = "authsite.env", "var/authsite.env"
# The values that `authsite init` adds must count, also where a container sets an empty value.
EMPTY_IS_UNSET = {"AUTHSITE_SEALING_KEY", "AUTHSITE_SEALING_KEY_NEXT"}
_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*+(.*)")
_QUOTED = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:#.*)?""")
_ESCAPED = re.compile(r"\\(.)")
_QUOTES = (
    "the value begins with a quote, and does not end with it: leave the quotes out, or write the "
    "whole value in '…'"
)


def env_file_path(environ: Mapping[str, str], folder: Path) -> Path:
    """The path of the environment file for an ini in ``folder``; the file may not exist.

    It is ``$AUTHSITE_ENV_FILE``, else ``authsite.env`` if there is one, else ``var/authsite.env``;
    a relative path starts from ``folder``.
    """
    if named := environ.get("AUTHSITE_ENV_FILE"):
        return folder / named
    beside = folder / BESIDE_INI
    return beside if beside.exists() else folder / DEFAULT


def environment(folder: Path) -> dict[str, str]:
    """The environment for an ini in ``folder``; variables of the process override the file.

    An empty one of `EMPTY_IS_UNSET` does not. A missing file counts as empty. Raises
    `SettingsError` if the file cannot be read or parsed.
    """
    process = {
        name: value for name, value in os.environ.items() if value or name not in EMPTY_IS_UNSET
    }
    file = read_env_file(env_file_path(process, folder))
    return {name: file[name] for name in file if not _set_in_other_form(name, process)} | process


def read_env_file(path: Path) -> dict[str, str]:
    """The variables of an environment file. Raises `SettingsError`; its message has no values."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        message = f"the environment file cannot be read ({type(error).__name__}); make it readable"
        raise SettingsError(
            [InvalidSetting(str(path), f"{message} UTF-8 text for this user")]
        ) from None
    variables: dict[str, str] = {}
    errors: list[InvalidSetting] = []
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _ASSIGNMENT.fullmatch(line)
        value = _value(match[2]) if match else None
        if match is None or value is None:
            message = _QUOTES if match else "write KEY=value or a # comment"
            errors.append(InvalidSetting(f"{path}, line {number}", message))
        else:
            variables[match[1]] = value
    if errors:
        raise SettingsError(errors)
    return variables


def assignment(name: str, value: str) -> str:
    """A line, without its line end, from which `read_env_file` reads the same value again."""
    if re.fullmatch(r"[A-Za-z0-9_./:@%+=,-]*", value):
        return f"{name}={value}"
    escaped = value.replace("\\", r"\\").replace('"', r"\"")
    return f'{name}="{escaped}"'.replace("\n", r"\n").replace("\r", r"\r")


def _value(text: str) -> str | None:
    """A value without quotes and comment; None if the closing quote is missing."""
    if text[:1] in ("'", '"'):
        quoted = _QUOTED.fullmatch(text)
        if quoted is None:
            return None
        if quoted[2] is not None:
            return quoted[2]
        return _ESCAPED.sub(lambda each: {"n": "\n", "r": "\r"}.get(each[1], each[1]), quoted[1])
    return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].rstrip()


def _set_in_other_form(name: str, process: Mapping[str, str]) -> bool:
    """Whether the process sets the same secret by its other variable: with or without ``_FILE``."""
    other = name.removesuffix("_FILE") if name.endswith("_FILE") else f"{name}_FILE"
    return name.startswith("AUTHSITE_") and other in process


# Reading ``[app:main]`` of an ini file, as ``pserve`` reads it.


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
