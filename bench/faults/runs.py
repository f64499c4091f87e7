"""The runs by their ids. Each takes ``short`` (seconds instead of minutes) and returns rows."""

from . import (
    clocks,
    database,
    failover,
    halves,
    limits,
    migration,
    mixed,
    patroni,
    proxied,
    races,
    restore,
    rotation,
    sqlite,
    start,
    workers,
)

RUNS = {
    "R1": workers.killed,
    "R2": halves.killed_at_points,
    "R3": workers.ended,
    "R4": database.restarted,
    "R5": database.frozen,
    "R6": database.full,
    "R7": database.conflicts,
    "R8": limits.without_redis,
    "R11": sqlite.full,
    "R12": sqlite.contended,
    "R16": clocks.jump,
    "R17": migration.migrated,
    "R20": races.refreshes,
    "R22": races.registrations,
    "R24": start.without_database,
    "R25": rotation.rotated,
    "R26": restore.restored,
    "R27": failover.failover,
    "R28": proxied.rolling,
    "R29": patroni.replaced,
    "R30": mixed.mixed,
}
NAMED = ("R30",)  # takes more than an hour: only if it is named
