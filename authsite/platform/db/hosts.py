"""The order in which several hosts of PostgreSQL are tried."""

from typing import Any

Host = tuple[str, str]
"""A host, and its port."""


class Hosts:
    """The host that answered last is tried first, and one that does not answer any more, last.

    libpq tries the hosts in the order of the URL, and waits for each one that does not answer.
    """

    def __init__(self) -> None:
        self._used: Host | None = None
        self._unresponsive: Host | None = None

    def ordered(self, options: dict[str, Any]) -> dict[str, Any]:
        """The ``options`` of a connection, with the hosts in the order to try them in."""
        hosts = str(options.get("host", "")).split(",")
        if len(hosts) == 1 or "hostaddr" in options:  # the addresses are in the order of the hosts
            return options
        ports = str(options.get("port", "")).split(",")
        pairs = list(zip(hosts, ports if len(ports) > 1 else ports * len(hosts), strict=True))
        pairs.sort(key=lambda pair: (pair == self._unresponsive, pair != self._used))
        return options | {
            "host": ",".join(host for host, _ in pairs),
            "port": ",".join(port for _, port in pairs),
        }

    def note(self, driver_connection: Any) -> bool:
        """Remember the host of a new connection. Returns whether former ones are to another."""
        former, self._used = self._used, _host_of(driver_connection)
        if self._unresponsive == self._used:
            self._unresponsive = None
        return former not in (None, self._used)

    def is_former(self, driver_connection: Any) -> bool:
        """Whether newer connections are to another host than this one."""
        return self._used not in (None, _host_of(driver_connection))

    def note_unresponsive(self) -> None:
        """Remember that the host of the last connection does not answer any more."""
        self._used, self._unresponsive = None, self._used or self._unresponsive


def _host_of(driver_connection: Any) -> Host:
    info = driver_connection.info
    return info.host, str(info.port)
