"""The effective value of each setting as text, its default, and where the value comes from."""

import os
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from .definitions import DEFINITIONS, Settings, limit_name, normalize
from .rate_limits import RATE_LIMITS
from .secret import Secret
from .sections import PROVIDER
from .sources import FILE_KEY, SourceValue, env_file_path, environment, folder_of, read_sources
from .values import format_duration

HIDDEN = "(hidden)"
DEFAULT = "default"


class Shown(NamedTuple):
    """A setting: its key, its value as text (None if it has none), and where that comes from.

    ``secrets``: the values of a secret, which ``value`` hides; each is a `Secret`.
    """

    key: str
    value: str | None
    source: str
    default: str | None = None
    secret: bool = False
    secrets: tuple[Secret, ...] = ()


def all_settings(cfg: Settings, ini: Mapping[str, object]) -> Iterator[Shown]:
    """Every setting of ``cfg``, in the order of the documentation; then limits, providers, clients.

    Each source is looked for now: ``cfg`` may have been read from a file that was changed since.
    """
    folder = folder_of(ini)
    found, _ = read_sources(ini, environment(folder), folder)
    sources = Sources(found, ini)
    for name, definition in DEFINITIONS.items():
        value = getattr(cfg, name)
        text = _hidden(value) if definition.secret else as_text(value)
        yield Shown(
            definition.key.removeprefix("authsite."), text, sources.of(name), definition.default,
            definition.secret, _secrets(value) if definition.secret else (),
        )  # fmt: skip
    for limit, rate in cfg.limit_values.items():
        default = RATE_LIMITS[limit].default
        yield Shown(f"limits.{limit}", rate, sources.of(limit_name(limit)), default)
    for provider in cfg.providers:
        for key, definition in PROVIDER.items():
            name, value = f"providers.{provider.name}.{key}", getattr(provider, normalize(key))
            given = found.get(normalize(name))
            text = HIDDEN if definition.secret else as_text(given.text if given else value)
            yield Shown(
                name, text, sources.of(normalize(name)), definition.default,
                definition.secret, _secrets(value) if definition.secret else (),
            )  # fmt: skip
    for name, given in found.items():
        if name.startswith("clients_"):
            key, secret = given.definition.key.removeprefix("authsite."), given.definition.secret
            secrets = (Secret(given.text),) if secret else ()
            text = HIDDEN if secret else given.text
            yield Shown(key, text, sources.of(name), None, secret, secrets)


class Sources(NamedTuple):
    """Where the values come from."""

    found: Mapping[str, SourceValue]
    ini: Mapping[str, object]

    def of(self, name: str) -> str:
        """A line of the ini, a variable, a file, or the default."""
        given = self.found.get(name)
        return self._place(given.source) if given else DEFAULT

    def _place(self, source: str) -> str:
        """``source`` is a key of the ini, or a variable."""
        folder = folder_of(self.ini)
        if source in self.ini:
            if FILE_KEY not in self.ini:
                return f"{source} of the application"
            path = Path(str(self.ini[FILE_KEY]))
            number = _line_of(path, source)
            return f"{path}, line {number}" if number else f"{path} (by its `use`)"
        variable = f"variable {source}"
        if source.endswith("_FILE"):
            path = folder / environment(folder)[source]
            return f"file {path} ({variable})"
        if source in os.environ:
            return variable
        return f"{variable} in {env_file_path(os.environ, folder)}"


def as_text(value: object) -> str | None:
    """A value of `Settings` in the notation of the ini; None for none."""
    match value:
        case None | () | "":
            return None
        case bool():
            return "on" if value else "off"
        case timedelta():
            return format_duration(value)
        case tuple():
            return " ".join(filter(None, map(as_text, value)))
        case Mapping():
            return "\n".join(f"{name}: {text}" for name, text in value.items()) or None
        case Secret():
            return HIDDEN
    return str(value)


def _hidden(value: object) -> str | None:
    """That a secret is set; None if it is not."""
    return HIDDEN if value else None


def _secrets(value: object) -> tuple[Secret, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(each for each in values if isinstance(each, Secret))


def _line_of(path: Path, key: str) -> int | None:
    """The line of the ini that sets ``key`` in its section ``[app:…]``."""
    inside = False
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    for number, line in enumerate(lines, 1):
        if line.startswith("["):
            inside = line.startswith("[app:")
        elif inside and re.match(rf"{re.escape(key)}\s*[=:]", line, re.IGNORECASE):
            return number
    return None
