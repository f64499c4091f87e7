"""The password grant: a first-party client acts for a user (RFC 6749, section 4.3)."""

from authsite.context import Context
from authsite.login import notices
from authsite.login.service import log_in

from .. import scopes
from ..client_auth import AuthenticatedClient
from ..errors import LoginFailed, MissingParameter
from ..issue import Owner, issue, new_family_id
from ..token_request import TokenRequest
from ..tokens import TokenPair

CLIENT_TYPES = ("password",)


def grant(ctx: Context, client: AuthenticatedClient, request: TokenRequest) -> TokenPair:
    """Tokens that act for the user.

    Raises `LoginFailed`, `MissingParameter`, `InvalidScope`, `TooManyAttempts`,
    `HashCapacityExceeded`, and what a login step raises.
    """
    if not request.username or not request.password:
        raise MissingParameter("username and password")
    scope = scopes.choose(request.scope, client.scope, client.default_scope)
    account = log_in(
        ctx, request.username, request.password, kinds=request.kinds, client_id=client.id
    )
    if account is None:
        raise LoginFailed
    owner = Owner(client.id, client.epoch, account.id, account.epoch)
    family_id, notify = new_family_id(), notices.is_new_device(ctx, account)
    pair = issue(ctx, owner, scope, family_id)
    if notify:
        notices.send_new_device(ctx, account, family_id)
    return pair
