"""Add an authenticator app at a login that must not go on without a second factor."""

from authsite.platform.context import Context
from authsite.sign_in.factors import enrolling
from authsite.sign_in.factors.errors import NotOffered
from authsite.sign_in.gate import PendingEnded
from authsite.sign_in.methods.totp.enrollment import Enrollment

from . import required
from .errors import NothingToEnroll


def begin(ctx: Context, mfa_token: str) -> Enrollment:
    """A new secret for the user of a pending login. Raises `LoginEnded` and `NothingToEnroll`.

    It is stored with its first code, by `service.go_on`.
    """
    pending = required.find_of_client(ctx, mfa_token)
    try:
        return enrolling.begin_totp(ctx, pending)
    except (NotOffered, PendingEnded):
        raise NothingToEnroll from None
