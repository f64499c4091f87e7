"""The order in which several hosts of PostgreSQL are tried."""

from typing import Any


class Hosts:
    """The host that answered last is tried first.

    libpq tries the hosts in the order of the URL, and waits for the first one each time if that
    does not answer.
    """

    def __init__(self) -> None:
        self._last: tuple[str, str] | None = None

    def ordered(self, options: dict[str, Any]) -> dict[str, Any]:
        """The ``options`` of a connection, with that host first."""
        hosts = str(options.get("host", "")).split(",")
        if len(hosts) == 1 or "hostaddr" in options:  # the addresses are in the order of the hosts
            return options
        ports = str(options.get("port", "")).split(",")
        pairs = list(zip(hosts, ports if len(ports) > 1 else ports * len(hosts), strict=True))
        pairs.sort(key=lambda pair: pair != self._last)
        return options | {
            "host": ",".join(host for host, _ in pairs),
            "port": ",".join(port for _, port in pairs),
        }

    def note(self, driver_connection: Any) -> None:
        """Remember the host of a new connection."""
        info = driver_connection.info
        self._last = info.host, str(info.port)
