"""When the tokens end that come from a code: with the browser session, or after a day."""

from datetime import datetime, timedelta
from typing import NamedTuple

from authsite.oauth.models import BROWSER
from authsite.oauth.scopes import OFFLINE_ACCESS

BROWSER_FAMILY = timedelta(hours=24)


class Bounds(NamedTuple):
    """When tokens of a family end at the latest, beside what the settings say; None for never.

    ``refresh_ends_at``: the refresh token; ``ends_at``: all its tokens.
    """

    refresh_ends_at: datetime | None = None
    ends_at: datetime | None = None

    def limit_refresh(self, expires_at: datetime) -> datetime:
        """``expires_at`` of a refresh token, or the earlier bound."""
        return min(expires_at, *(each for each in self if each is not None))


def outlives_session(scope: str) -> bool:
    """Whether a family with this granted scope outlives its browser session."""
    return OFFLINE_ACCESS in scope.split()


def bounds_of(
    client_type: str, granted_scope: str, created_at: datetime, session_ends_at: datetime
) -> Bounds:
    """The bounds of a family that was created then, by the client's type and the granted scope.

    ``session_ends_at``: when the browser session expires. Tokens of an application in a browser,
    which has no secret and keeps them where scripts can read them, end a day after the sign-in.
    """
    ends_at = None
    if client_type == BROWSER:
        ends_at = created_at.replace(microsecond=0) + BROWSER_FAMILY
    return Bounds(None if outlives_session(granted_scope) else session_ends_at, ends_at)
