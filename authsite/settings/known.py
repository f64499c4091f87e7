"""Which keys there are, however they are spelled, and what an unknown one may have meant."""

import re
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from . import rates
from .errors import Problem
from .fields import KEYS
from .secret import Secret, client_secret

CLIENT_KEY = re.compile(r"clients_([a-z0-9](?:[a-z0-9_]*[a-z0-9])?)_(id|secret)")
_BUCKETS = {f"limits_{bucket.replace('-', '_')}": bucket for bucket in rates.DEFAULTS}
_TELLING = re.compile(r"secret|pepper|pass|token|key|url|storage|client")
_USER_INFO = re.compile(r"(?<=//)[^/@\s]*@")
_SHOWN = 100  # characters


@dataclass(frozen=True, slots=True)
class Known:
    """A key that exists: its name as documented, its parser, and whether it is a secret."""

    key: str
    parse: Callable[[str], object]
    secret: bool
    missing: str | None = None  # how to get a value, when it is required


def normalise(key: str) -> str:
    """``Base-URL``, ``base_url`` and ``base.url`` are one key: ``base_url``."""
    return re.sub(r"[-.]", "_", key.lower())


def find(name: str) -> Known | None:
    """The key that a normalised name means."""
    if declared := KEYS.get(name):
        return Known(documented(name), declared.parse, declared.secret, declared.missing)
    if bucket := _BUCKETS.get(name):
        return Known(f"authsite.limits.{bucket}", rates.rate, secret=False)
    if client := CLIENT_KEY.fullmatch(name):
        key = f"authsite.clients.{client[1]}.{client[2]}"
        if client[2] == "secret":
            return Known(key, client_secret, secret=True)
        return Known(key, client_id, secret=False)
    return None


def documented(name: str) -> str:
    """The key of an attribute as the documentation writes it, with the prefix."""
    return "authsite." + (KEYS[name].name or name.replace("_", "-"))


def client_id(text: str) -> str:
    """An OAuth client's id: visible ASCII (RFC 6749, appendix A.1)."""
    if not re.fullmatch(r"[!-~]{1,255}", text):
        raise ValueError("give the id that `authsite client create` printed")
    return text


def unknown(key: str, name: str, text: str) -> Problem:
    """The problem with a key that does not exist: what it may have meant.

    Its value is shown only if that is no secret: what looks like nothing may be one, mistyped.
    """
    from difflib import get_close_matches  # only for those who mistyped

    if name.startswith("clients_"):
        advice = "write authsite.clients.<name>.id and authsite.clients.<name>.secret"
        return Problem(key, advice, value="(hidden)")
    if name.startswith("limits_"):
        spelled = {each: f"authsite.limits.{bucket}" for each, bucket in _BUCKETS.items()}
        spelled["limits_storage"] = documented("limits_storage")
        otherwise = f"there is no such limit; there are {', '.join(rates.DEFAULTS)}"
    else:
        spelled = {each: documented(each) for each in KEYS}
        otherwise = "there is no such key; docs/settings.md lists all of them"
    meant = next(iter(get_close_matches(name, spelled, n=1, cutoff=0.6)), "")
    advice = f"there is no such key; did you mean {spelled[meant]}?" if meant else otherwise
    close = find(meant)
    hidden = close is None or close.secret or _TELLING.search(name) is not None
    return Problem(key, advice, value="(hidden)" if hidden else _short(text))


def shown(known: Known, text: str) -> str:
    """A value as an error may show it: hidden when it is a secret."""
    return "(hidden)" if known.secret else _short(text)


def hide_secrets(ini: MutableMapping[str, Any]) -> None:
    """Make the secrets among an ini's keys invisible to ``repr``; their values stay."""
    for key, value in ini.items():
        known = find(normalise(key.removeprefix("authsite.")))
        if known and known.secret and key.startswith("authsite.") and isinstance(value, str):
            ini[key] = Secret(value)


def _short(text: str) -> str:
    # A password in a URL is not ours to show even where none belongs.
    plain = _USER_INFO.sub("(hidden)@", text)
    return repr(plain if len(plain) <= _SHOWN else plain[:_SHOWN] + "…")
