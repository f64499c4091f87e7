"""What can go wrong here: somebody tried too often."""

from math import ceil

from authsite.http.errors import ApiError
from authsite.texts import counted
from authsite.texts import text as _

_MINUTES_FROM = 120  # seconds: below that a person counts in seconds


class TooManyAttempts(ApiError):
    """Over a limit (RFC 6585, section 4); ``retry_after`` in seconds, at least 1.

    It says when to try again and nothing else: whether what was sent was right is not known,
    for it was not looked at.
    """

    status = 429
    code = "too_many_attempts"
    message = _("Too many attempts. Try again later.")

    def __init__(self, retry_after: float) -> None:
        self.retry_after = max(1, ceil(retry_after))
        super().__init__(
            _in_words(self.retry_after),
            headers={"Retry-After": str(self.retry_after)},
        )


def _in_words(seconds: int) -> str:
    if seconds < _MINUTES_FROM:
        return counted(
            "Too many attempts. Try again in %(count)s second.",
            "Too many attempts. Try again in %(count)s seconds.",
            seconds,
        )
    return _("Too many attempts. Try again in %(count)s minutes.", count=ceil(seconds / 60))
