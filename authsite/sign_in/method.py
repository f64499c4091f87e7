"""The ways to sign in, and the values that go through the gate."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from authsite.platform.audit.service import About
from authsite.platform.context import Context
from authsite.platform.i18n import _
from authsite.platform.rate_limit.recognized import Recognition
from authsite.platform.registrations import Registered
from authsite.users.account import Account

from .factors.state import FactorState


class Target(NamedTuple):
    """What a sign-in is for: tokens of a client with a scope, or else a browser session.

    ``remember``: "stay signed in"; ``next``: the checked page that the sign-in leads to.
    ``identity_id``: the identity at a provider with which it began. ``remembered``: the cookie of a
    browser that was remembered after a second factor, which is never stored. ``resource``: the
    URI of the resource that the tokens are for.
    """

    client_id: uuid.UUID | None = None
    client_epoch: int | None = None
    scope: str | None = None
    remember: bool = False
    next: str | None = None
    identity_id: uuid.UUID | None = None
    remembered: str | None = None
    resource: str | None = None


class Pending(NamedTuple):
    """A sign-in that needs one more proof, by one of ``methods``; see `PendingLogin`.

    ``enroll``: the user must add a second factor; see `adds_factor`. Without ``enroll`` and
    ``methods`` only the support can help. ``id``: of the row. ``auth_at``: as of `Verified`.
    ``account``: None where the name with which it began belongs to no user; while ``amr`` is empty,
    nothing that is shown may depend on it. ``name_hash``: of that name. ``registered``: the browser
    has just registered the account. ``expires_at``: None until it is stored. ``beside``: of a
    step-up, the first proof that came with it; None for a sign-in, which begins with ``amr``.
    """

    key: str
    account: Account | None
    recognition_version: int
    amr: tuple[str, ...]
    methods: tuple[str, ...]
    target: Target
    factors: FactorState = FactorState()
    recognized: datetime | None = None
    unrecognized: bool = False
    enroll: bool = False
    auth_at: datetime | None = None
    id: uuid.UUID = uuid.UUID(int=0)
    name_hash: str | None = None
    registered: bool = False
    expires_at: datetime | None = None
    beside: tuple[str, ...] | None = None

    @property
    def of_session(self) -> bool:
        """Whether it is a step-up of a signed-in user, which is not stored and has no key."""
        return not self.key

    @property
    def adds_factor(self) -> bool:
        """Whether a second factor must be added now, and nothing else is missing before."""
        return self.enroll and not self.methods

    @property
    def user(self) -> Account:
        """The account of a login with a first proof. Raises ValueError without one."""
        if self.account is None:
            raise ValueError("this pending login has no user")
        return self.account

    def about(self, method: str, wrong: "Wrong") -> About:
        """What the event of a wrong proof is about."""
        return {
            "user_id": self.account.id if self.account else None,
            "client_id": self.target.client_id,
            "details": {"method": method, "reason": wrong.code, **wrong.details},
        }


class PendingEnded(Exception):
    """The pending login has expired, failed too often, was used, or its user or client changed.

    Or it was begun for another client.
    """


class Verified(NamedTuple):
    """An account that was proved by one method, and fulfils the account conditions.

    It has the account as it was read before the proof, since the epoch of that moment decides
    whether the sign-in is still valid. ``recognition`` is what was read before the proof; None if
    it was not read. ``auth_at``: when the user gave the proof, if that was not now. ``factors``:
    what was read of the user's second factors; None if it was not read. Only `gate.admit` makes
    one.
    """

    account: Account
    amr: tuple[str, ...]
    recognition_version: int = 0
    recognition: Recognition | None = None
    auth_at: datetime | None = None
    factors: FactorState | None = None


Offered = Callable[[Context, Account | None], bool]
Verify = Callable[[Context, Target, Mapping[str, str], Pending | None], "Verified | Wrong | None"]


class Wrong(NamedTuple):
    """A wrong second proof; ``code``: what the caller is told about it.

    It is ``invalid_code``, ``code_used`` (a right one, used before) or ``invalid_credential``.
    ``details``: what else the event says, which the caller is not told.
    """

    code: str = "invalid_code"
    details: Mapping[str, str] = MappingProxyType({})


class Words(NamedTuple):
    """What the pages say where a method is the second proof; in English, as `i18n` has them.

    ``title``: of the page that asks for it. ``way``: the link to it beside another method; its name
    without one. ``lead``: what to do; it may have ``%(address)s``, the user's. ``label`` and
    ``hint``: of the field ``code``, which a method without a label does not have; ``autocomplete``:
    as in HTML; ``digits``: whether the code has digits alone. ``wrong``, ``used`` and ``missing``:
    what to do after a wrong proof, after a code that was used before, and after an empty field; the
    last two are those of ``wrong`` without a text.
    """

    title: str = _("Confirm that it is you")
    way: str = ""
    lead: str = ""
    label: str = _("Code")
    hint: str = ""
    autocomplete: str = "one-time-code"
    digits: bool = False
    wrong: str = _("This was not accepted. Try again, or use another way.")
    used: str = ""
    missing: str = ""

    def after(self, code: str) -> str:
        """What to do after a wrong proof; ``code``: that of `Wrong`."""
        return (self.used if code == "code_used" else "") or self.wrong


class Method(NamedTuple):
    """A way to prove who one is, registered with ``config.add_sign_in_method``.

    ``amr``: its values of RFC 8176. ``offered(ctx, None)``: whether a sign-in may begin with it;
    ``offered(ctx, account)``: whether this user can give it as a second factor.
    ``verify(ctx, target, given, pending)`` checks what was ``given``; it returns what `gate.admit`
    made, or `Wrong`. A method that begins a sign-in returns None for a wrong proof, whose failure
    it records itself. No transaction is open during `verify`. ``page``: the name of the route that
    asks for it after a first proof. ``always``: every user to whom it is offered is asked for a
    second factor, whatever the account says. ``after``: what follows when its proof has continued
    a pending login, in the request's transaction. ``words``: for the pages that ask for it as a
    second proof.
    """

    name: str
    amr: tuple[str, ...]
    offered: Offered
    verify: Verify
    page: str | None = None
    always: bool = False
    after: Callable[[Context, Account], None] | None = None
    words: Words = Words()


METHODS = Registered[Method]("ways to sign in")


def second_factors(ctx: Context, account: Account) -> tuple[Method, ...]:
    """The methods that this user can give as a second factor."""
    return tuple(each for each in METHODS.of(ctx.services).values() if each.offered(ctx, account))


def words_of(ctx: Context, name: str | None) -> Words:
    """The words of the method of this name; those for any method if there is none."""
    method = METHODS.of(ctx.services).get(name or "")
    return method.words if method else Words()


def ways_of(ctx: Context, names: Iterable[str]) -> dict[str, str]:
    """The words of the links to the methods of these names."""
    return {name: words_of(ctx, name).way or name for name in names}
