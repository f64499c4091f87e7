"""Mail a code to the user of a pending login."""

from authsite.context import Context

from . import required
from .errors import NoMailCode


def send(ctx: Context, mfa_token: str) -> None:
    """Raises `LoginEnded`, `NoMailCode` and `TooManyAttempts`."""
    required.find_of_client(ctx, mfa_token)
    raise NoMailCode
