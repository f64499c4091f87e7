"""The only module that reads the clock, so that tests can freeze the time."""

from datetime import UTC, datetime


def now() -> datetime:
    """The current time, aware, in UTC."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """``moment`` in UTC with second precision and ``Z`` (RFC 3339, section 5.6)."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"
