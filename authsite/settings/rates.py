"""The limits' values, written as the limits library writes them: ``5/5 minutes``."""

import re
from collections.abc import Mapping
from types import MappingProxyType

# The library is imported only when a value is changed: it costs more than all the rest.
DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "login-account": "5/5 minutes",
        "login-address": "30/minute",
        "client-auth": "20/minute",
        "register-address": "20/hour",
        "forgot-email": "5/hour",
        "forgot-address": "20/hour",
        "verification": "6/minute",
        "reset-token": "10/15 minutes",
    }
)
_LONGEST = 366 * 86400  # seconds
_MOST = 1_000_000


def rate(text: str) -> str:
    """One limit, checked by the library itself; at least 1, over at most a year."""
    from limits import parse_many

    try:
        (limit,) = parse_many(text)  # ValueError too when there are several
        # The library reads `5/0 minutes` as `5/minute`; whoever wrote it meant something else.
        fine = 1 <= limit.amount <= _MOST and limit.get_expiry() <= _LONGEST
    except ValueError:
        fine = False
    if not fine or re.search(r"(/|per)\s*0", text):
        raise ValueError("give one limit such as 5/5 minutes or 20/hour")
    return text
