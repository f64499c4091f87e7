"""The environment: the process's variables over those of the environment file.

``authsite init`` writes the file, every command and the server read it. Lines are
``KEY=value``; ``#`` starts a comment; a value may stand in quotes.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from .errors import Problem, SettingsError

DEFAULT_PATH = Path("var/authsite.env")
_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTED = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:#.*)?""")
_ESCAPED = re.compile(r"\\(.)")


def env_file_path(environ: Mapping[str, str]) -> Path:
    """Where the environment file is: ``$AUTHSITE_ENV_FILE``, else ``var/authsite.env``."""
    return Path(environ.get("AUTHSITE_ENV_FILE") or DEFAULT_PATH)


def environment() -> dict[str, str]:
    """The environment; a variable that the process has wins over the file.

    No file is an empty file. Raises `SettingsError` for one that cannot be read or understood.
    """
    process = dict(os.environ)
    ours = read_env_file(env_file_path(process))
    return {name: ours[name] for name in ours if not _given_otherwise(name, process)} | process


def read_env_file(path: Path) -> dict[str, str]:
    """The variables of an environment file; raises `SettingsError`, never with a value in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        advice = f"the environment file cannot be read ({type(error).__name__}); make it readable"
        raise SettingsError([Problem(str(path), f"{advice} UTF-8 text for this user")]) from None
    variables: dict[str, str] = {}
    problems: list[Problem] = []
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        written = _ASSIGNMENT.fullmatch(line)
        value = _value(written[2]) if written else None
        if written is None or value is None:
            problems.append(Problem(f"{path}, line {number}", "write KEY=value or a # comment"))
        else:
            variables[written[1]] = value
    if problems:
        raise SettingsError(problems)
    return variables


def assignment(name: str, value: str) -> str:
    """A line that `read_env_file` reads back as it was, without its line end."""
    if re.fullmatch(r"[A-Za-z0-9_./:@%+=,-]*", value):
        return f"{name}={value}"
    escaped = value.replace("\\", r"\\").replace('"', r"\"")
    return f'{name}="{escaped}"'.replace("\n", r"\n").replace("\r", r"\r")


def _value(text: str) -> str | None:
    """A value without quotes and comment; None when a quote is left open."""
    if text[:1] in ("'", '"'):
        quoted = _QUOTED.fullmatch(text)
        if quoted is None:
            return None
        if quoted[2] is not None:
            return quoted[2]
        return _ESCAPED.sub(lambda each: {"n": "\n", "r": "\r"}.get(each[1], each[1]), quoted[1])
    return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].rstrip()


def _given_otherwise(name: str, process: Mapping[str, str]) -> bool:
    """Whether the process gives ``AUTHSITE_X`` as a file, or the other way round."""
    other = name.removesuffix("_FILE") if name.endswith("_FILE") else f"{name}_FILE"
    return name.startswith("AUTHSITE_") and other in process
