"""A clock that stands still until a test moves it."""

from datetime import UTC, datetime, timedelta


class FrozenClock:
    """Put in the place of `clock.now`, which is the one way to the time."""

    def __init__(self, at: datetime = datetime(2031, 5, 17, 9, 30, tzinfo=UTC)) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    def set_unix(self, seconds: float) -> None:
        self.at = datetime.fromtimestamp(seconds, UTC)
