"""The error of a request over a rate limit."""

from math import ceil

from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import PluralString, _

_MINUTES_FROM = 120  # seconds; shorter times are given in seconds


class TooManyAttempts(ApiError):
    """Over a limit (RFC 6585, section 4); ``retry_after`` in seconds, at least 1.

    It only says when to try again: the request has not been checked. ``limit``: the name of the
    limit, for the operator.
    """

    status = 429
    code = "too_many_attempts"
    message = _("Too many attempts. Try again later.")

    def __init__(self, retry_after: float, limit: str | None = None) -> None:
        self.limit = limit
        self.retry_after = max(1, ceil(retry_after))
        super().__init__(
            _in_words(self.retry_after),
            headers={"Retry-After": str(self.retry_after)},
        )


def _in_words(seconds: int) -> str:
    if seconds < _MINUTES_FROM:
        return PluralString(
            "Too many attempts. Try again in ${count} second.",
            "Too many attempts. Try again in ${count} seconds.",
            seconds,
        )
    return PluralString(
        "Too many attempts. Try again in ${count} minute.",
        "Too many attempts. Try again in ${count} minutes.",
        ceil(seconds / 60),
    )
