"""Mail a code to the user of a pending login."""

from authsite.platform.context import Context
from authsite.sign_in.methods.mail_code import service

from . import required
from .errors import NoMailCode


def send(ctx: Context, mfa_token: str) -> None:
    """Mail the code of the pending login; over the limits nothing is mailed.

    Raises `LoginEnded` and `NoMailCode`.
    """
    pending = required.find_of_client(ctx, mfa_token)
    if service.NAME not in pending.methods:
        raise NoMailCode
    service.send(ctx, pending)
