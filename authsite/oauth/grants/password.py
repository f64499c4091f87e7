"""The password grant: a first-party client acts for a user (RFC 6749, section 4.3)."""

from dataclasses import replace

from authsite import clock
from authsite.login.service import log_in

from .. import families, scopes
from ..clients import KnownClient
from ..desk import Desk, TokenRequest
from ..errors import LoginRefused, MissingParameter
from ..families import Owner, TokenPair

CLIENT_TYPES = ("password",)


def grant(desk: Desk, client: KnownClient, asked: TokenRequest) -> TokenPair:
    """Tokens that act for the user.

    Raises `LoginRefused` for a wrong login, `MissingParameter`, `InvalidScope`,
    `TooManyAttempts`, what a login step raises, and `HashCapacityExceeded`.
    """
    if not asked.username or not asked.password:
        raise MissingParameter("username and password")
    scope = scopes.granted(asked.scope, client.scope, client.default_scope)
    account = log_in(
        desk.db, desk.database, desk.cfg, desk.passwords, desk.attempts, desk.login_steps,
        desk.source, asked.username, asked.password, kinds=asked.kinds, client_id=client.id,
    )  # fmt: skip
    if account is None:
        raise LoginRefused
    desk = replace(desk, now=clock.now())  # the hash, and the line before it, took their time
    owner = Owner(client.id, client.epoch, account.id, account.epoch)
    return families.issue(desk, owner, scope)
