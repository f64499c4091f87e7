"""The ways to sign in, and the values that go through the gate."""

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple

from authsite.context import Context
from authsite.platform.audit.failure_reasons import FailureReason
from authsite.platform.audit.service import About
from authsite.platform.rate_limit.recognized import Recognition
from authsite.platform.registrations import Registered
from authsite.users.account import Account


class Target(NamedTuple):
    """What a sign-in is for: tokens of a client with a scope, or else a browser session.

    ``remember``: "stay signed in"; ``next``: the checked page that the sign-in leads to.
    ``identity_id``: the identity at a provider with which it began.
    """

    client_id: uuid.UUID | None = None
    client_epoch: int | None = None
    scope: str | None = None
    remember: bool = False
    next: str | None = None
    identity_id: uuid.UUID | None = None


class Pending(NamedTuple):
    """A sign-in that needs one more proof, by one of ``methods``; see `PendingLogin`."""

    key: str
    account: Account
    recognition_version: int
    amr: tuple[str, ...]
    methods: tuple[str, ...]
    target: Target
    recognized: datetime | None = None
    unrecognized: bool = False

    def about(self, reason: FailureReason) -> About:
        """What the event of a login that failed here is about."""
        return {
            "user_id": self.account.id,
            "client_id": self.target.client_id,
            "details": {"reason": reason},
        }


class Verified(NamedTuple):
    """An account that was proved by one method, and fulfils the account conditions.

    It has the account as it was read before the proof, since the epoch of that moment decides
    whether the sign-in is still valid. ``recognition`` is what was read before the proof; None if
    it was not read. ``auth_at``: when the user gave the proof, if that was not now. Only
    `gate.admit` makes one.
    """

    account: Account
    amr: tuple[str, ...]
    recognition_version: int = 0
    recognition: Recognition | None = None
    auth_at: datetime | None = None


Offered = Callable[[Context, Account | None], bool]
Verify = Callable[[Context, Target, Mapping[str, str], Pending | None], Verified | None]


class Method(NamedTuple):
    """A way to prove who one is, registered with ``config.add_sign_in_method``.

    ``amr``: its values of RFC 8176. ``offered(ctx, None)``: whether a sign-in may begin with it;
    ``offered(ctx, account)``: whether this user must use it, or another one that is offered, after
    a first proof. ``verify(ctx, target, given, pending)`` checks what was ``given``; it returns
    what `gate.admit` made, or None for a wrong proof, whose failure a first method records itself.
    No transaction is open during `verify`. ``page``: the name of the route that asks for it after a
    first proof.
    """

    name: str
    amr: tuple[str, ...]
    offered: Offered
    verify: Verify
    page: str | None = None


METHODS = Registered[Method]("ways to sign in")


def methods_after(ctx: Context, account: Account, amr: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the methods of which this user must use one, after what ``amr`` has proved."""
    return tuple(
        method.name
        for method in METHODS.of(ctx.services).values()
        if not set(method.amr) <= set(amr) and method.offered(ctx, account)
    )
