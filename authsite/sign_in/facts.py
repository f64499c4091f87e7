"""The column ``facts`` of browser sessions and token families: what holds for this sign-in.

It is JSON with the key ``amr``: how the user proved to be who they are, in the values of RFC 8176
as far as it has one. NULL is a plain password, so that most rows have no text to parse. What joins
later gets a separate key.
"""

import json

PASSWORD = ("pwd",)
PROVIDER = ("idp",)  # another provider; RFC 8176 has no value for it
EMAIL = ("email",)  # a mailed link or code; RFC 8176 has no value for it


def pack(amr: tuple[str, ...]) -> str | None:
    """The text of the column."""
    return None if amr == PASSWORD else json.dumps({"amr": list(amr)}, separators=(",", ":"))


def amr_of(facts: str | None) -> tuple[str, ...]:
    """How the user signed in, from the column; a sign-in of before the column had a password."""
    return PASSWORD if facts is None else tuple(json.loads(facts)["amr"])
