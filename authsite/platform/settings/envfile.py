"""The environment: the variables of the process, and those of the environment file.

``authsite init`` writes the file; every command and the server read it. Its lines are
``KEY=value``; ``#`` starts a comment; a value may be in quotes.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from .errors import InvalidSetting, SettingsError

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
