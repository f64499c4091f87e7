"""The networks that client addresses are counted by."""

from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network

from authsite.platform.settings.values import Network

IPV6_PREFIX = 64  # bits: what a provider gives to one customer, who can rotate within it
WIDE_PREFIX = 48  # bits: what many providers give on request, and tunnel brokers for nothing
WIDE_FACTOR = 10  # times the limit of one address
OWN_FACTOR = 20  # times the limit of one address, in `own-networks`
NO_ADDRESS = "-"


@lru_cache(maxsize=1024)  # parsing takes longer than a query's parameters
def network_of(address: str | None) -> str:
    """The key of a client address: an IPv4 address itself, the /64 of an IPv6 address (L05)."""
    if address is None:
        return NO_ADDRESS
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed.packed, IPV6_PREFIX), strict=False))
    return str(parsed)


@lru_cache(maxsize=1024)
def wider_network(network: str) -> str | None:
    """The /48 around the /64 that `network_of` returned; None for anything else."""
    if not network.endswith(f"/{IPV6_PREFIX}"):
        return None
    return str(IPv6Network(network).supernet(new_prefix=WIDE_PREFIX))


@lru_cache(maxsize=1024)
def is_in(network: str, own: tuple[Network, ...]) -> bool:
    """Whether the ``network`` that `network_of` returned is in one of the ``own`` networks.

    An own network may be a part of the /64 that is counted.
    """
    if network == NO_ADDRESS:
        return False
    parsed = ip_network(network)
    return any(each.version == parsed.version and each.overlaps(parsed) for each in own)
