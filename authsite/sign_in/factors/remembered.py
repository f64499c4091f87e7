"""Browsers that are remembered after a second factor, and are then not asked for one again.

A remembered browser is not a factor: the sign-in has the level ``aal1``.
"""

import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, select

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.db import PreparedQuery
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.db.prepared import columns_of
from authsite.platform.http import cookies
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.sign_in.method import Pending, Target
from authsite.users.account import Account
from authsite.users.models import User

from . import policy
from .policy import MAIL_CODE
from .state import RememberedBrowser

PURPOSE = "remembered browser"
_COOKIE = SealedFormat("16sII")  # row, `factor_version`, `recovery_version`


class Found(NamedTuple):
    """A remembered browser that counts."""

    id: uuid.UUID


REMEMBERED = PreparedQuery(
    select(*columns_of(RememberedBrowser, Found))
    .join(User, User.id == RememberedBrowser.user_id)
    .where(
        RememberedBrowser.id == bindparam("id"),
        RememberedBrowser.user_id == bindparam("user_id"),
        RememberedBrowser.factor_version == User.factor_version,
        RememberedBrowser.recovery_version == User.recovery_version,
        RememberedBrowser.expires_at
        > bindparam("now", type_=RememberedBrowser.__table__.c.expires_at.type),
    ),
    Found,
)


def is_remembered(ctx: Context, account: Account, cookie: str | None) -> bool:
    """Whether the browser with this cookie counts as remembered for the user.

    It never counts for administrators.
    """
    if not cookie or not ctx.settings.remember_factor or policy.is_administrator(account):
        return False
    bound = account.id.bytes
    values = _COOKIE.unseal(ctx.services.keys[PURPOSE], cookie, clock.now(), bound)
    if values is None:
        return False
    id = uuid.UUID(bytes=values[0])
    return REMEMBERED.one(ctx.database, id=id, user_id=account.id, now=clock.now()) is not None


def remember(ctx: Context, user_id: uuid.UUID) -> str | None:
    """Remember the browser of this request; returns the value of its cookie.

    None if that is switched off, or the user is gone. The user has just given a second factor. It
    lasts for `remember-factor`.
    """
    lifetime = ctx.settings.remember_factor
    if not lifetime:
        return None
    now, info = clock.now(), ctx.request_info
    versions = select(User.factor_version, User.recovery_version).where(User.id == user_id)
    found = ctx.db.execute(versions).one_or_none()
    if found is None:
        return None
    factor_version, recovery_version = found
    row = RememberedBrowser(
        id=uuid.uuid4(),
        user_id=user_id,
        factor_version=factor_version,
        recovery_version=recovery_version,
        address=info.address,
        agent=info.agent,
        created_at=now,
        expires_at=now + lifetime,
    )
    ctx.db.add(row)
    record(ctx, Event.BROWSER_REMEMBERED, user_id=user_id)
    expires = int((now + lifetime).timestamp())
    values = row.id.bytes, factor_version, recovery_version
    ring = ctx.services.keys[PURPOSE]
    return _COOKIE.seal(ring, *values, expires=expires, bound=user_id.bytes)


def count(ctx: Context, user_id: uuid.UUID) -> int:
    """How many browsers of the user are remembered."""
    query = (
        select(func.count())
        .select_from(RememberedBrowser)
        .join(User, User.id == RememberedBrowser.user_id)
        .where(
            RememberedBrowser.user_id == user_id,
            RememberedBrowser.factor_version == User.factor_version,
            RememberedBrowser.recovery_version == User.recovery_version,
            RememberedBrowser.expires_at > clock.now(),
        )
    )
    return ctx.db.scalar(query) or 0


def forget_all(ctx: Context, user_id: uuid.UUID) -> None:
    """Forget every remembered browser of the user."""
    ctx.db.execute(delete(RememberedBrowser).where(RememberedBrowser.user_id == user_id))


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete remembered browsers that have expired."""
    return sweep_table(connection, RememberedBrowser, RememberedBrowser.expires_at <= now)


# The cookie of a browser that is remembered after a second factor; see `remembered`.


MAX_LENGTH = 256


def target_of(
    request: Request,
    *,
    remember: bool = False,
    next: str | None = None,
    identity_id: uuid.UUID | None = None,
) -> Target:
    """The target of a sign-in on our pages, with the cookie that the browser sent."""
    cookie = remembered_cookie(request)
    return Target(remember=remember, next=next, identity_id=identity_id, remembered=cookie)


def remembered_cookie(request: Request) -> str | None:
    """The value of the cookie, or None; it has not been checked."""
    value = cookies.read(request, cookies.host_name(request, cookies.FACTOR))
    return value if value and len(value) <= MAX_LENGTH else None


def may_remember(ctx: Context, pending: Pending) -> bool:
    """Whether the page offers to remember the browser.

    It does not where no second factor is asked for, nor for administrators; see `gate`.
    """
    if not ctx.settings.remember_factor or pending.enroll or MAIL_CODE in pending.methods:
        return False
    return pending.account is not None and not policy.is_administrator(pending.account)


def remember_in_browser(request: Request, pending: Pending, user_id: uuid.UUID) -> None:
    """Remember the browser, whose user has just completed the login, and set the cookie.

    Where `may_remember` is false, nothing happens.
    """
    ctx = request.authsite.ctx
    if not may_remember(ctx, pending):
        return
    value = remember(ctx, user_id)
    if value is not None:
        name = cookies.host_name(request, cookies.FACTOR)
        max_age = int(ctx.settings.remember_factor.total_seconds())
        cookies.write(request, request.response, cookies.Cookie(name, value, max_age))
