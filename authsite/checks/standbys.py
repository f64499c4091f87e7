"""The check of ``authsite doctor`` of the standbys in `database-read-url`."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from authsite.platform.finding import Finding
from authsite.platform.runtime.causes import cause_of
from authsite.platform.settings.durations import format_duration

if TYPE_CHECKING:
    from datetime import timedelta

    from sqlalchemy import Connection

    from authsite.platform.context import Services

KEY = "database-read-url"
PAUSE = 0.01  # seconds between two looks at what a standby has replayed


def standby_findings(services: "Services") -> Iterator[Finding]:
    """For each standby: whether it answers, and how far it is behind.

    Raises SQLAlchemy's errors if the primary does not answer.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.platform.db import open_database

    for url in services.settings.database_read_url:
        parsed = make_url(url.reveal())
        name = f"{parsed.host}:{parsed.port or 5432}"
        with services.database.autocommit.connect() as connection:
            written = connection.exec_driver_sql("SELECT pg_current_wal_flush_lsn()").scalar_one()
        standby = open_database(url.reveal())
        try:
            with standby.autocommit.connect() as connection:
                yield _finding(name, connection, written, services.settings.database_read_lag)
        except SQLAlchemyError as error:
            text = f"{name} cannot be asked ({cause_of(error)}), so the primary is: start it, or"
            yield Finding("wrong", KEY, f"{text} correct the URL")
        finally:
            standby.dispose()


def _finding(name: str, connection: "Connection", written: str, lag: "timedelta") -> Finding:
    if not connection.exec_driver_sql("SELECT pg_is_in_recovery()").scalar():
        text = "accepts writes: it is the primary, or it was promoted; give standbys of"
        return Finding("wrong", KEY, f"{name} {text} database-url")
    began = time.monotonic()
    while not _has_replayed(connection, written):
        if time.monotonic() - began > lag.total_seconds():
            text = f"is more than {format_duration(lag)} behind, so the primary is asked: see"
            advice = "pg_stat_replication there, or raise database-read-lag"
            return Finding("change", KEY, f"{name} {text} {advice}")
        time.sleep(PAUSE)
    behind = round((time.monotonic() - began) * 1000)
    return Finding("ok", KEY, f"{name} replays, and is {behind} ms behind")


def _has_replayed(connection: "Connection", written: str) -> bool:
    query = "SELECT pg_last_wal_replay_lsn() >= CAST(%s AS pg_lsn)"
    return bool(connection.exec_driver_sql(query, (written,)).scalar())
