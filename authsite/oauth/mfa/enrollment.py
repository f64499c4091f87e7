"""Add an authenticator app at a login that must not go on without a second factor."""

from typing import NamedTuple

from authsite.context import Context

from . import required
from .errors import NothingToEnroll


class Enrollment(NamedTuple):
    """Stands for the one of the authenticator app until that is there."""

    secret: str
    otpauth_uri: str
    qr_svg: str
    enrollment: str


def begin(ctx: Context, mfa_token: str) -> Enrollment:
    """A new secret for the user of a pending login. Raises `LoginEnded` and `NothingToEnroll`."""
    required.find_of_client(ctx, mfa_token)
    raise NothingToEnroll
