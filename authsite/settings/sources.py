"""Which text counts for a key: the order of the sources.

``AUTHSITE_<KEY>`` or, for a secret, the file that ``AUTHSITE_<KEY>_FILE`` names (K02); then the
specification's own variables; then the ini.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .errors import Problem
from .fields import KEYS
from .known import CLIENT_KEY, Known, find, normalise, shown, unknown
from .secretfile import read_secret

INI_PREFIX = "authsite."
VARIABLE_PREFIX = "AUTHSITE_"
_FILE = "_FILE"
# They steer the program and are no settings.
_NO_SETTINGS = {"AUTHSITE_CONFIG", "AUTHSITE_ENV_FILE", "AUTHSITE_TEST_REQUIRE"}
_SPECIFIED = {key.variable: name for name, key in KEYS.items() if key.variable}
_SPECIFIED_CLIENT = re.compile(r"CLIENT_[A-Z0-9_]+_(ID|SECRET)")
_UNPRINTABLE = re.compile(r"[^\S\n\r\t ]|[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
# Empty they would switch a protection off, perhaps because a variable was not expanded.
_NEVER_EMPTY = {"secret", "password_pepper", "metrics_token"}


@dataclass(frozen=True, slots=True)
class Given:
    """A value as written, of a known key, and where it stands."""

    name: str
    known: Known
    text: str
    where: str

    def problem(self, advice: str) -> Problem:
        """What is wrong with it; the value is shown unless it is a secret."""
        value = shown(self.known, self.text) if self.text else None
        return Problem(self.known.key, advice, self.where, value)


def gather(
    ini: Mapping[str, object], environ: Mapping[str, str]
) -> tuple[dict[str, Given], list[Problem]]:
    """What was given for each normalised key; and what is wrong before any value is read.

    An empty value is as good as none, except for a key that protects.
    """
    found: dict[str, Given] = {}
    problems: list[Problem] = []
    for source in (_from_ini(ini), _from_specified(environ), _from_variables(environ)):
        for given in source:
            if isinstance(given, Problem):
                problems.append(given)
            elif given.text:
                found[given.name] = given
            elif given.name in _NEVER_EMPTY or CLIENT_KEY.fullmatch(given.name):
                how = given.known.missing or "give a value or remove it"
                problems.append(given.problem(f"it is empty; {how}"))
    for name, given in list(found.items()):
        if _UNPRINTABLE.search(given.text):
            problems.append(given.problem("give text in UTF-8 without control characters"))
            del found[name]
    return found, problems


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """The ``AUTHSITE_*`` variables that mean nothing, sorted: probably typing errors."""
    return sorted(
        variable
        for variable in environ
        if variable.startswith(VARIABLE_PREFIX)
        and variable not in _NO_SETTINGS
        and _meaning(variable) is None
    )


def _from_ini(ini: Mapping[str, object]) -> Iterator[Given | Problem]:
    spelled: dict[str, str] = {}
    for key, value in ini.items():
        if not key.lower().startswith(INI_PREFIX):
            continue
        name, text = normalise(key[len(INI_PREFIX) :]), _as_text(value)
        known = find(name)
        if known is None:
            yield unknown(key, name, text)
        elif name in spelled:
            yield Given(name, known, text, key).problem(
                f"{spelled[name]} is the same key; keep one"
            )
        else:
            spelled[name] = key
            yield Given(name, known, text, key)


def _from_specified(environ: Mapping[str, str]) -> Iterator[Given]:
    for variable, value in environ.items():
        name = _SPECIFIED.get(variable)
        if _SPECIFIED_CLIENT.fullmatch(variable):
            name = "clients_" + variable.removeprefix("CLIENT_").lower()
        known = find(name) if name else None
        if name and known:
            yield Given(name, known, value.strip(), variable)


def _from_variables(environ: Mapping[str, str]) -> Iterator[Given | Problem]:
    for variable, value in environ.items():
        meaning = _meaning(variable)
        if meaning is None:
            continue
        name, known = meaning
        if variable == VARIABLE_PREFIX + name.upper():
            yield Given(name, known, value.strip(), variable)
        elif variable.removesuffix(_FILE) in environ:
            advice = f"{variable.removesuffix(_FILE)} is set too; keep one of the two"
            yield Problem(known.key, advice, variable)
        else:
            try:
                yield Given(name, known, read_secret(value), variable)
            except ValueError as error:
                yield Problem(known.key, str(error), variable, repr(value))


def _meaning(variable: str) -> tuple[str, Known] | None:
    """The normalised key that a variable, or the file it names, gives a value for."""
    if not variable.startswith(VARIABLE_PREFIX) or variable != variable.upper():
        return None
    name = variable.removeprefix(VARIABLE_PREFIX).lower()
    if known := find(name):
        return name, known
    name = name.removesuffix(_FILE.lower())
    known = find(name)
    return (name, known) if known and known.secret else None


def _as_text(value: object) -> str:
    """A value of a host application's settings, which need not be text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return str(value).strip()
