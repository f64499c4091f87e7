"""Find the user of a login name, check the password, and remember a browser.

`authsite.sign_in.methods.password` is the login with limits and audit events.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from sqlalchemy import bindparam, select, update
from sqlalchemy.exc import SQLAlchemyError

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery, after_commit
from authsite.platform.db.prepared import columns_of
from authsite.platform.passwords import HashCapacityExceeded
from authsite.platform.rate_limit import limit_subject
from authsite.platform.rate_limit.recognized import Owner
from authsite.users.account import ACCOUNT_COLUMNS, PASSWORD, Account
from authsite.users.models import LoginName, User

from .factors.state import FactorState
from .identifiers import Identifier, candidates

log = structlog.get_logger("authsite.login")


class Credential(NamedTuple):
    """The user of a login name, and the values that a login is checked against."""

    password_hash: str | None
    disabled_at: datetime | None
    recognition_version: int
    second_factor_at: datetime | None
    factor_version: int
    account: Account

    @property
    def factors(self) -> FactorState:
        """What the user has of second factors."""
        return FactorState(self.second_factor_at, self.factor_version)


CREDENTIAL = PreparedQuery(
    select(*columns_of(User, Credential), *ACCOUNT_COLUMNS)
    .join(LoginName, LoginName.user_id == User.id)
    .where(LoginName.key == bindparam("key"), LoginName.kind == bindparam("kind")),
    Credential,
)


def forget_failures(ctx: Context, user_id: UUID) -> None:
    """End the lockout of an account under every login name, after a password reset.

    Call it when the reset has been committed.
    """
    accounts = [limit_subject(user_id)]
    if ctx.settings.prevent_enumeration:
        with ctx.database.autocommit.connect() as connection:
            names = select(LoginName.key).where(LoginName.user_id == user_id)
            accounts = list(connection.scalars(names))
    ctx.limits.end_lockout(accounts)


def owner_of(found: Credential | None, name: str) -> Owner:
    """Whose browsers and addresses are recognized at a login with ``name`` in its normal form."""
    if found is None:
        return Owner(name)
    return owner_of_user(found.account.id, found.recognition_version)


def owner_of_user(user_id: UUID, recognition_version: int) -> Owner:
    """Whose browsers and addresses are recognized once this user has signed in."""
    return Owner(limit_subject(user_id), recognition_version)


def remember_caller(ctx: Context, user_id: UUID, recognition_version: int) -> None:
    """Recognize the browser and address of this request, once its transaction is committed.

    Its user has recovered the account, or signed in with a link. ``recognition_version``: the
    present one, which `users.service.end_sign_ins` may have just raised. The view sets the cookie
    with `device_cookie.set_cookie`.
    """
    owner = owner_of_user(user_id, recognition_version)
    ctx.limits.owner = owner
    # Not before: the counters may be in the same database, which has one writer in SQLite.
    after_commit(ctx.db, lambda: ctx.limits.remember(owner))


def find_credential(ctx: Context, typed: str, kinds: Sequence[str]) -> Credential | None:
    """The user with the login name ``typed``, enabled or not, read outside any transaction."""
    return find_credential_of(ctx, candidates(typed, kinds, ctx.settings.phone_region))


def find_credential_of(ctx: Context, names: Sequence[Identifier]) -> Credential | None:
    """`find_credential` for a text that has these `candidates`."""
    if not names:
        return None
    return CREDENTIAL.one(ctx.database, key=names[0].key, kind=names[0].kind)


def check_password(ctx: Context, found: Credential | None, password: str) -> Account | None:
    """Return the account if ``found`` is an enabled user with this password, else None.

    An unknown user, a wrong password and a disabled user cost the same hash and give the same
    answer (ASVS 6.3.8). Raises `HashCapacityExceeded` if the queue of the hash pool is full.
    """
    right = ctx.passwords.check(password, found.password_hash if found else None)
    if not right or found is None or found.disabled_at:
        return None
    if ctx.passwords.needs_upgrade(found.password_hash):
        _upgrade(ctx, found, password)
    return found.account


def find_account(ctx: Context, typed: str, kinds: Sequence[str]) -> Account | None:
    """The enabled user with the login name ``typed``, read outside any transaction."""
    found = find_credential(ctx, typed, kinds)
    return found.account if found and not found.disabled_at else None


def _upgrade(ctx: Context, found: Credential, password: str) -> None:
    """Replace the stored hash by one of the current scheme; the login succeeds in any case."""
    try:
        stronger = ctx.passwords.hash(password)
        with ctx.database.transactional.begin() as connection:
            connection.execute(
                update(User)
                .where(User.id == found.account.id, User.password_hash == found.password_hash)
                .values(password_hash=stronger)
            )
    except (HashCapacityExceeded, SQLAlchemyError) as error:
        log.warning(
            "password_upgrade_failed", user=str(found.account.id), error=type(error).__name__
        )


# The column ``facts`` of browser sessions and token families: what holds for this sign-in.
#
# It is JSON. ``amr``: how the user proved to be who they are, in the values of RFC 8176 as far as
# it has one; absent for a plain password. ``aud``: the resource that the tokens are for (RFC
# 8707). ``third_party``: whether the client is one of a third party; absent for a browser session
# and for the clients that log a user in with a password. ``client``: the URL that is the
# ``client_id`` of a client which a document describes; absent for all others, whose id is that of
# their row. NULL is a plain password and nothing else, so that most rows have no text to parse.
# What joins later gets a separate key.


class Facts(NamedTuple):
    """What holds for a sign-in. ``third_party`` None: of no client that uses codes."""

    amr: tuple[str, ...] = PASSWORD
    audience: str | None = None
    third_party: bool | None = None
    client: str | None = None


PLAIN = Facts()


def pack(
    amr: tuple[str, ...],
    *,
    audience: str | None = None,
    third_party: bool | None = None,
    client: str | None = None,
) -> str | None:
    """The text of the column."""
    values: dict[str, Any] = {
        "amr": None if amr == PASSWORD else list(amr),
        "aud": audience,
        "third_party": third_party,
        "client": client,
    }
    found = {key: value for key, value in values.items() if value is not None}
    return json.dumps(found, separators=(",", ":")) if found else None


@lru_cache(1024)  # a request reads them more than once, and most sign-ins have the same
def unpack(facts: str | None) -> Facts:
    """What the column says."""
    if facts is None:
        return PLAIN
    values = json.loads(facts)
    amr = tuple(values.get("amr", PASSWORD))
    return Facts(amr, values.get("aud"), values.get("third_party"), values.get("client"))


def amr_of(facts: str | None) -> tuple[str, ...]:
    """How the user signed in, from the column."""
    return unpack(facts).amr
