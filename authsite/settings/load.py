"""From the ini and the environment to `Settings`, or one `SettingsError` that names all."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from . import rates
from .checks import check
from .errors import Problem, SettingsError
from .fields import KEYS, ProxyClient, Settings
from .known import CLIENT_KEY, documented
from .sources import Given, gather
from .urls import host_of, is_address


def load(ini: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    """The settings; raises `SettingsError` with every wrong and unknown key.

    ``ini`` holds the keys as written (``authsite.base-url``), others are passed over;
    ``environ`` is what `environment` returns, or a mapping like it.
    """
    given, problems = gather(ini, environ)
    values = {name: _value(name, given.get(name), problems) for name in KEYS}
    if "mail_from" not in given:
        values["mail_from"] = _default_sender(values["base_url"])
    values["limit_values"] = _limit_values(given, problems)
    values["clients"] = _clients(given, problems)
    named = {each.key for each in problems}
    problems += [each for each in check(values) if each.key not in named]
    if problems:
        raise SettingsError(problems)
    return Settings(**values)


def canonical_client(name: str) -> str:
    """A client's name as the key of `Settings.clients`: ``-`` and ``_`` are the same."""
    return name.replace("-", "_")


def _value(name: str, given: Given | None, problems: list[Problem]) -> Any:
    """The value of a declared key; None, and a problem more, where there is none."""
    if given is not None:
        return _parse(given, problems)
    key = KEYS[name]
    if key.missing is not None and all(each.key != documented(name) for each in problems):
        problems.append(Problem(documented(name), f"it is not set; {key.missing}"))
    return None if key.default is None else key.parse(key.default)


def _parse(given: Given, problems: list[Problem]) -> Any:
    try:
        return given.known.parse(given.text)
    except ValueError as error:
        problems.append(given.problem(str(error)))
        return None


def _limit_values(given: Mapping[str, Given], problems: list[Problem]) -> Mapping[str, str]:
    found = dict(rates.DEFAULTS)
    for bucket in found:
        if changed := given.get(f"limits_{bucket.replace('-', '_')}"):
            found[bucket] = _parse(changed, problems)
    return MappingProxyType(found)


def _clients(given: Mapping[str, Given], problems: list[Problem]) -> Mapping[str, ProxyClient]:
    halves: dict[str, dict[str, Any]] = {}
    for name, each in given.items():
        if parts := CLIENT_KEY.fullmatch(name):
            halves.setdefault(parts[1], {})[parts[2]] = _parse(each, problems)
    named = {each.key for each in problems}
    for client, pair in halves.items():
        for half in {"id", "secret"} - set(pair):
            key = f"authsite.clients.{client}.{half}"
            variable = f"CLIENT_{client.upper()}_{half.upper()}"
            if key not in named:
                advice = f"it is not set, but the other half is; give both (or {variable})"
                problems.append(Problem(key, advice))
    return MappingProxyType(
        {client: ProxyClient(**pair) for client, pair in halves.items() if len(pair) == 2}
    )


def _default_sender(base_url: str | None) -> str:
    host = host_of(base_url) if base_url else "localhost"
    return f"no-reply@{'localhost' if is_address(host) else host}"
