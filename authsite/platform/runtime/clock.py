"""The only module that reads the clock, so that tests can freeze the time."""

from datetime import UTC, datetime, timedelta

MAX_OFFSET = timedelta(minutes=1)
"""More than this between the clocks of a machine and of the database is an error."""


def now() -> datetime:
    """The current time, aware, in UTC."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """``moment`` in UTC with second precision and ``Z`` (RFC 3339, section 5.6)."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"
