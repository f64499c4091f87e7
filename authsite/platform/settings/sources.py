"""The sources of the settings, and their precedence.

First ``AUTHSITE_<KEY>``, or for a secret the file that ``AUTHSITE_<KEY>_FILE`` names (K02); then
the variables that Apiato uses; then the ini.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from authsite.platform.runtime.lines import described

from .definition import PREFIX, Definition
from .definitions import DEFINITIONS
from .errors import InvalidSetting, display_value
from .lookup import CLIENT_NAME, find_definition, normalize, unknown_key

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
