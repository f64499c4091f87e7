"""The runs by their ids. Each takes ``short`` (seconds instead of minutes) and returns rows."""

from . import database, rotation, start

RUNS = {
    "R4": database.restarted,
    "R5": database.frozen,
    "R6": database.full,
    "R7": database.conflicts,
    "R24": start.without_database,
    "R25": rotation.rotated,
}
