"""The runs by their ids. Each takes ``short`` (seconds instead of minutes) and returns rows."""

from . import database, failover, rotation, sqlite, start

RUNS = {
    "R4": database.restarted,
    "R5": database.frozen,
    "R6": database.full,
    "R7": database.conflicts,
    "R11": sqlite.full,
    "R12": sqlite.contended,
    "R24": start.without_database,
    "R25": rotation.rotated,
    "R27": failover.failover,
}
