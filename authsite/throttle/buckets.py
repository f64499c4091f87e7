"""What is limited. A new limit is one line here, its default in ``settings/rates.py``, and
``throttle="name"`` on the view.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

IPV6_PREFIX = 64  # bits: what one customer of a provider has, so rotating inside it does not help
NO_ADDRESS = "-"


def network_of(address: str | None) -> str:
    """The address that is counted: IPv4 as it is, of IPv6 the /64 (L05)."""
    if address is None:
        return NO_ADDRESS
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        return str(ip_network((parsed.packed, IPV6_PREFIX), strict=False))
    return str(parsed)


def by_address(request: Any) -> str:
    """Counted per client address."""
    return str(request.attempts.address)


def by_user(request: Any) -> str | None:
    """Counted per user of the request; a request without a token is not counted here."""
    return str(request.caller.acting_user().id) if request.caller else None


@dataclass(frozen=True, slots=True)
class Bucket:
    """``subject``: whom a request counts against, or None where the room itself names it
    (``request.attempts``). ``failures``: the error codes that count; none: every request does.
    """

    subject: Callable[[Any], str | None] | None = None
    failures: frozenset[str] = frozenset()


BUCKETS: Mapping[str, Bucket] = {
    "login-address": Bucket(),  # Attempts.login: client address
    "login-account": Bucket(),  # Attempts.login: normalised identifier; failures, see delays.py
    "client-auth": Bucket(failures=frozenset({"invalid_client"})),  # client id and address
    "register-address": Bucket(by_address),
    "forgot-address": Bucket(by_address),
    "forgot-email": Bucket(),  # Attempts.allows: stored address
    "verification": Bucket(by_user),
    "reset-token": Bucket(by_address, failures=frozenset({"invalid_token"})),
}
