"""A request as a curl line to paste into a shell."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

# What stands for itself in a form, unencoded.
_PLAIN = re.compile(r"[\w@.:/-]*", re.ASCII)
# What the reader has, and the documentation has not: variables of the shell.
_VARIABLES = {
    "refresh_token": "$REFRESH_TOKEN",
    "token": "$TOKEN",
    "client_id": "$CLIENT_ID",
    "client_secret": "$CLIENT_SECRET",
}


def curl(
    method: str, url: str, fields: Mapping[str, str], schemes: Mapping[str, Any] | None = None
) -> str:
    """A curl command of one or more lines; ``schemes`` are the security schemes to use."""
    words = [*_credentials(schemes or {}, fields), *(_field(*each) for each in fields.items())]
    usual = "POST" if any(word.startswith(("-d", "--data")) for word in words) else "GET"
    option = "" if method == usual else f"-X {method} "
    return " \\\n  ".join([f"curl {option}{shlex.quote(url)}", *words])


def _credentials(schemes: Mapping[str, Any], fields: Mapping[str, str]) -> Iterator[str]:
    for scheme in schemes.values():
        kind = (scheme["type"], scheme.get("scheme"))
        if kind == ("http", "bearer"):
            yield '-H "Authorization: Bearer $ACCESS_TOKEN"'
        elif kind == ("http", "basic") and not {"client_id", "client_secret"} & fields.keys():
            yield '-u "$CLIENT_ID:$CLIENT_SECRET"'
        elif scheme["type"] == "apiKey" and not fields:
            yield f'-b "{scheme["name"]}=$REFRESH_TOKEN"'
            yield '-H "Content-Type: application/json"'
            yield "-d '{}'"


def _field(name: str, value: str) -> str:
    if name in _VARIABLES:
        return f'-d "{name}={_VARIABLES[name]}"'
    option = "-d" if _PLAIN.fullmatch(value) else "--data-urlencode"
    return f"{option} {shlex.quote(f'{name}={value}')}"
