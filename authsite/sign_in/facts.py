"""The column ``facts`` of browser sessions and token families: what holds for this sign-in.

It is JSON. ``amr``: how the user proved to be who they are, in the values of RFC 8176 as far as it
has one; absent for a plain password. ``aud``: the resource that the tokens are for (RFC 8707).
``third_party``: whether the client is one of a third party; absent for a browser session and for
the clients that log a user in with a password. ``client``: the URL that is the ``client_id`` of a
client which a document describes; absent for all others, whose id is that of their row. NULL is a
plain password and nothing else, so that most rows have no text to parse. What joins later gets a
separate key.
"""

import json
from functools import lru_cache
from typing import Any, NamedTuple

from authsite.users.levels import PASSWORD


class Facts(NamedTuple):
    """What holds for a sign-in. ``third_party`` None: of no client that uses codes."""

    amr: tuple[str, ...] = PASSWORD
    audience: str | None = None
    third_party: bool | None = None
    client: str | None = None


PLAIN = Facts()


def pack(
    amr: tuple[str, ...],
    *,
    audience: str | None = None,
    third_party: bool | None = None,
    client: str | None = None,
) -> str | None:
    """The text of the column."""
    values: dict[str, Any] = {
        "amr": None if amr == PASSWORD else list(amr),
        "aud": audience,
        "third_party": third_party,
        "client": client,
    }
    found = {key: value for key, value in values.items() if value is not None}
    return json.dumps(found, separators=(",", ":")) if found else None


@lru_cache(1024)  # a request reads them more than once, and most sign-ins have the same
def unpack(facts: str | None) -> Facts:
    """What the column says."""
    if facts is None:
        return PLAIN
    values = json.loads(facts)
    amr = tuple(values.get("amr", PASSWORD))
    return Facts(amr, values.get("aud"), values.get("third_party"), values.get("client"))


def amr_of(facts: str | None) -> tuple[str, ...]:
    """How the user signed in, from the column."""
    return unpack(facts).amr
