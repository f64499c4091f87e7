"""What a process uses at this moment: hash threads, connections, memory."""

import os
import threading
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import NamedTuple

from authsite.platform.context import Services


class Gauge(NamedTuple):
    """A number of a process; the metric is its sum over all processes.

    ``counts_up``: it only grows, and that of a process that has ended counts as well.
    """

    name: str
    text: str
    label: tuple[str, str] | None = None
    counts_up: bool = False


_POOL_TEXT = "Database connections in use, by pool; docs/scaling.md has their limits."
GAUGES = {
    "processes": Gauge("authsite_processes", "Processes whose numbers are added up here."),
    "hash_waiting": Gauge("authsite_hash_waiting", "Logins that wait for a hash thread."),
    "hash_running": Gauge("authsite_hash_running", "Password hashes that are being computed."),
    **{
        f"pool_{pool}": Gauge("authsite_db_connections_in_use", _POOL_TEXT, ("pool", pool))
        for pool in ("transactional", "autocommit", "prepared")
    },
    "cpu": Gauge("authsite_cpu_seconds", "Processor time of all processes.", counts_up=True),
    "memory": Gauge("authsite_resident_memory_bytes", "Resident memory (Linux)."),
    "files": Gauge("authsite_open_fds", "Open file descriptors (Linux)."),
    "threads": Gauge("authsite_threads", "Threads of Python."),
}


def gauges(services: Services) -> dict[str, float]:
    """The numbers of this process, by the keys of `GAUGES`; without those it cannot read."""
    pool, database = services.passwords.pool, services.database
    found: dict[str, float] = {
        "processes": 1,
        "hash_waiting": pool.waiting,
        "hash_running": pool.callers - pool.waiting,
        "pool_prepared": database.prepared.in_use,
        "cpu": process_time(),
        "threads": threading.active_count(),
    }
    for name in ("transactional", "autocommit"):
        in_use = getattr(getattr(database, name).pool, "checkedout", None)
        if in_use:  # the pool of a database in memory does not count
            found[f"pool_{name}"] = in_use()
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        found["memory"] = pages * os.sysconf("SC_PAGE_SIZE")
        found["files"] = len(os.listdir("/proc/self/fd"))
    return found
