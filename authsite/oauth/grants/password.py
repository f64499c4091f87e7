"""The password grant: a first-party client acts for a user (RFC 6749, section 4.3)."""

from dataclasses import replace

from authsite import clock
from authsite.audit.service import pseudonym, record
from authsite.login.check import check, pass_steps
from authsite.login.identifiers import counting_key

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
    kinds = asked.kinds or desk.cfg.login_identifiers
    name = counting_key(asked.username, kinds, desk.cfg.phone_region)
    with desk.attempts.login(name) as attempt:
        checked = check(
            desk.database, desk.cfg, desk.passwords, asked.username, asked.password, kinds
        )
        attempt.right = checked.account is not None
    desk = replace(desk, now=clock.now())  # the hash, and the line before it, took their time
    account = checked.account
    if account is None:
        aimed_at = checked.aimed_at.id if checked.aimed_at else None
        details = None if aimed_at else {"name": pseudonym(asked.username)}
        record(
            desk.db, desk.now, desk.source, "login.failed", user_id=aimed_at,
            client_id=client.id, details=details,
        )  # fmt: skip
        if attempt.closed:
            record(
                desk.db, desk.now, desk.source, "login.closed", user_id=aimed_at,
                client_id=client.id, details=details,
            )  # fmt: skip
        raise LoginRefused
    pass_steps(desk.login_steps, desk.cfg, account)
    owner = Owner(client.id, client.epoch, account.id, account.epoch)
    return families.issue(desk, owner, scope)
