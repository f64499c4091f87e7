"""The claims about a user (OpenID Connect Core 1.0, section 5.1), and those that others add.

A claim without a value is left out. An e-mail address is only shown while it is confirmed: an
application takes the address for the person.
"""

from collections.abc import Callable, Collection, Mapping
from itertools import chain
from typing import Any, Final

import structlog

from authsite.platform.context import Context
from authsite.platform.registrations import Registered
from authsite.users.account import Account
from authsite.users.groups import labels

log = structlog.get_logger("authsite.oauth")

AddClaims = Callable[[Context, Account, Collection[str]], Mapping[str, Any]]
ADDED_CLAIMS = Registered[AddClaims]("functions that add claims")
ID_TOKEN_CLAIMS: Final = (
    *("iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "at_hash", "sid"),
)
"""The claims of every ID token, as far as they have a value (section 2)."""
CLAIMS_OF_SCOPE: Final[Mapping[str, tuple[str, ...]]] = {
    "profile": ("name", "preferred_username", "nickname", "locale", "updated_at"),
    "email": ("email", "email_verified"),
    "phone": ("phone_number", "phone_number_verified"),
    "groups": ("groups",),
}
"""The claims about a user that come with a scope (section 5.4)."""
OWN_CLAIMS: Final = frozenset(
    [*ID_TOKEN_CLAIMS, "nbf", "jti", "azp", "c_hash", *chain(*CLAIMS_OF_SCOPE.values())]
)
"""The claims that only this module and the ID token set."""


def user_claims(
    ctx: Context, account: Account, scopes: Collection[str], acr: str | None = None
) -> dict[str, Any]:
    """What an application with these ``scopes`` learns of a user, without ``sub``.

    ``acr``: of the sign-in, for groups that ask for one.
    """
    found = _added(ctx, account, scopes)
    names = ctx.settings.login_identifiers
    username = account.username if "username" in names else None
    if "profile" in scopes:
        confirmed = account.email if account.confirmed else None
        found["name"] = account.name or None
        found["preferred_username"] = username or confirmed
        found["nickname"] = username
        found["locale"] = account.language and account.language.replace("_", "-")
        found["updated_at"] = int(account.updated_at.timestamp())
    if "email" in scopes and account.confirmed:
        found["email"], found["email_verified"] = account.email, True
    if "phone" in scopes and "phone" in names and account.phone:
        found["phone_number"], found["phone_number_verified"] = account.phone, False
    if "groups" in scopes:
        found["groups"] = list(labels.shown_to_others(account.labels, acr, ctx.settings))
    return {name: value for name, value in found.items() if value is not None}


def _added(ctx: Context, account: Account, scopes: Collection[str]) -> dict[str, Any]:
    """The claims of `config.add_claims`, of which none replaces one of ours."""
    found: dict[str, Any] = {}
    for add in ADDED_CLAIMS.of(ctx.services).values():
        found.update(add(ctx, account, scopes))
    for name in OWN_CLAIMS & found.keys():
        log.warning("claim_ignored", claim=name, why="authsite sets it: give it another name")
        del found[name]
    return found
