"""When the tokens end that come from a code: with the browser session, or after a day."""

from datetime import datetime, timedelta

from authsite.oauth.models import BROWSER
from authsite.oauth.scopes import OFFLINE_ACCESS

BROWSER_FAMILY = timedelta(hours=24)


def outlives_session(scope: str) -> bool:
    """Whether a family with this granted scope outlives its browser session."""
    return OFFLINE_ACCESS in scope.split()


def bound_of(
    client_type: str,
    granted_scope: str,
    created_at: datetime,
    session_ends_at: datetime,
    ends_at: datetime | None,
) -> datetime | None:
    """When the next tokens of a family end at the latest, beside what the settings say.

    None for no bound. ``session_ends_at``: when the browser session expires. ``ends_at``: the bound
    of the sign-in, which holds whatever the scope is. The tokens of an
    application in a browser, which has no secret and keeps them where scripts can read them, end a
    day after the family was created.
    """
    bounds = [] if ends_at is None else [ends_at]
    if not outlives_session(granted_scope):
        bounds.append(session_ends_at)
    if client_type == BROWSER:
        bounds.append(created_at + BROWSER_FAMILY)
    return min(bounds, default=None)
