"""What the state of the browser and the user means for a request, and the code in the end."""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select

from authsite.oauth.authorization_reasons import Reason, Refused
from authsite.oauth.clients import groups as client_groups
from authsite.oauth.codes import service as codes
from authsite.oauth.codes.service import NewCode, SignInFacts
from authsite.oauth.consents import service as consents
from authsite.oauth.scopes import parse
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record, record_apart
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.denied_requests.reason import shown
from authsite.platform.runtime import clock
from authsite.sign_in.factors.policy import is_met
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.account import (
    AAL2,
    LEVELS,
    PROMPTED,
    PROVIDER,
    Account,
    acr_of,
    is_old,
    lacks_confirmation,
    proved_at,
    reaches,
)
from authsite.users.groups import group_scopes
from authsite.users.groups.group_scopes import Holder

from . import request as levels
from .checks import Checked
from .continuation import LedToLogin
from .request import CONSENT, CREATE, LOGIN, SELECT_ACCOUNT

# What happens with a valid authorization request: one table, of which the first row holds.


class Step(Enum):
    """What the browser gets."""

    REGISTER = "the registration page, and from there on"
    LOGIN = "the login page, and from there on"
    VERIFY = "the page that asks for the proof that is missing, and from there on"
    CHOOSE = "the page that asks whether to go on as the signed-in user"
    CONFIRM_ADDRESS = "the page that leads to the confirmation of the e-mail address"
    NOT_IN_GROUP = "an error page, with a link back to the application"
    CONSENT = "the page that asks whether to allow what is asked for"
    ANSWER = "the way back to the application, with a code"


class State(NamedTuple):
    """What is known of the browser, the user, and what the request asks of them.

    ``signed_in``: there is a session. ``pending``: a login that lacks its second proof.
    ``fresh``: the session was signed in to after this request had led to the login page. It is not
    led there again: a provider may sign a user in without asking. ``asked_again``: the user proved
    to be who they are since, or a provider was asked for it; that satisfies ``wants_login``
    (``prompt=login``). ``too_old``: the proof is older than ``max_age``, and of before.
    ``other_user``: another one is signed in than the ``id_token_hint`` names. ``chosen``: the user
    has chosen to go on with this account. ``wants_consent``: ``prompt=consent``, the answer goes
    to a program on the user's computer (RFC 8252, section 8.6), or no administrator has registered
    the client. ``allowed``: the user has just pressed "Allow".
    """

    signed_in: bool
    pending: bool = False
    fresh: bool = False
    asked_again: bool = False
    wants_login: bool = False
    wants_registration: bool = False
    other_user: bool = False
    wants_choice: bool = False
    chosen: bool = False
    too_old: bool = False
    level_low: bool = False
    unconfirmed: bool = False
    not_in_group: bool = False
    consent_missing: bool = False
    wants_consent: bool = False
    allowed: bool = False


class Row(NamedTuple):
    """A row of the table.

    ``silent``: what the application is told where no page may be shown (``prompt=none``).
    """

    holds: Callable[[State], bool]
    step: Step
    silent: Reason


TABLE = (
    Row(
        lambda s: s.wants_registration and not s.signed_in and not s.pending,
        Step.REGISTER,
        Reason.LOGIN_NEEDED,
    ),
    Row(lambda s: not s.signed_in, Step.LOGIN, Reason.LOGIN_NEEDED),
    Row(lambda s: s.pending and not s.fresh, Step.LOGIN, Reason.LOGIN_NEEDED),
    Row(lambda s: s.wants_login and not s.fresh, Step.LOGIN, Reason.LOGIN_NEEDED),
    Row(lambda s: s.other_user, Step.LOGIN, Reason.LOGIN_NEEDED),
    Row(
        lambda s: s.wants_choice and not s.chosen and not s.fresh,
        Step.CHOOSE,
        Reason.CHOICE_NEEDED,
    ),
    Row(
        lambda s: s.too_old or (s.wants_login and not s.asked_again),
        Step.VERIFY,
        Reason.LOGIN_NEEDED,
    ),
    Row(lambda s: s.level_low, Step.VERIFY, Reason.LEVEL_NEEDED),
    Row(lambda s: s.unconfirmed, Step.CONFIRM_ADDRESS, Reason.ADDRESS_NOT_CONFIRMED),
    Row(lambda s: s.not_in_group, Step.NOT_IN_GROUP, Reason.GROUP),
    Row(
        lambda s: (s.consent_missing or s.wants_consent) and not s.allowed,
        Step.CONSENT,
        Reason.CONSENT_NEEDED,
    ),
)


def decide(state: State) -> tuple[Step, Reason | None]:
    """The next step, and the reason for the application if no page may be shown."""
    for row in TABLE:
        if row.holds(state):
            return row.step, row.silent
    return Step.ANSWER, None


PROVIDERS_CLOCK = timedelta(seconds=60)  # that the clock of a provider may be behind ours


class SessionFacts(NamedTuple):
    """How and when the user of a browser session signed in."""

    facts: str | None
    auth_at: datetime
    recognized: datetime | None
    identity_id: UUID | None
    ends_at: datetime | None
    expires_at: datetime
    confirmed_at: datetime | None


SESSION = PreparedQuery(
    select(
        BrowserSession.facts,
        BrowserSession.auth_at,
        BrowserSession.recognized,
        BrowserSession.identity_id,
        BrowserSession.ends_at,
        BrowserSession.expires_at,
        BrowserSession.confirmed_at,
    ).where(BrowserSession.id == bindparam("session_id")),
    SessionFacts,
)


class SignedIn(NamedTuple):
    """The user who is signed in with the browser, and the session."""

    account: Account
    session_id: UUID
    amr: tuple[str, ...]
    session: SessionFacts

    @property
    def facts(self) -> SignInFacts:
        """What a code has of the session."""
        return SignInFacts(
            self.session_id,
            self.session.facts,
            self.session.auth_at,
            self.session.recognized,
            self.session.identity_id,
            self.session.ends_at,
        )

    @property
    def digest(self) -> bytes:
        """Eight bytes that are others after each sign-in, or confirmation, and only after one.

        The key of the session does not tell: to sign out everywhere else makes a new one.
        """
        times = self.session.expires_at, self.session.confirmed_at
        text = f"{self.session_id} {[each and each.timestamp() for each in times]}"
        return sha256(text.encode()).digest()[:8]

    @property
    def proved_at(self) -> datetime | None:
        """When the user proved to be who they are; None if a provider did not tell."""
        return proved_at(self.amr, self.session.auth_at)

    def began_after(self, led: LedToLogin | None) -> bool:
        """Whether the user signed in after the request had ``led`` away.

        That need not be a proof: a provider may know the browser, and ask nothing. Its time may be
        that of long ago, so there another `digest` tells.
        """
        if led is None:
            return False
        at_provider = self.session.identity_id is not None
        other = at_provider and not compare_digest(self.digest, led.sign_in)
        return other or self.proved_after(led)

    def proved_after(self, led: LedToLogin | None) -> bool:
        """Whether the user proved to be who they are after the request had ``led`` away."""
        if led is None or self.proved_at is None:
            return False
        leeway = PROVIDERS_CLOCK if set(PROVIDER) <= set(self.amr) else timedelta()
        return self.proved_at >= led.moment - leeway


class Visit(NamedTuple):
    """What the browser brings, and what the user has just pressed.

    ``fresh``: the user has signed in since the request led away; ``proved``: and proved to be who
    they are. ``shown``: the scope on the page where the user pressed it, if the form says so.
    """

    signed_in: SignedIn | None
    pending: bool = False
    fresh: bool = False
    proved: bool = False
    chosen: bool = False
    allowed: bool = False
    shown: str | None = None

    @property
    def asked_again(self) -> bool:
        """Whether the user has signed in since, so that a provider was asked for a proof."""
        amr = self.signed_in.amr if self.signed_in else ()
        return self.proved or (self.fresh and set(PROMPTED) <= set(amr))


def signed_in(
    ctx: Context, account: Account, session_id: UUID, amr: tuple[str, ...]
) -> SignedIn | None:
    """The values of a session that the guard has found; None if it has ended since."""
    session = SESSION.one(ctx.database, session_id=session_id)
    return session and SignedIn(account, session_id, amr, session)


def state_of(ctx: Context, checked: Checked, visit: Visit) -> State:
    """The values on which `decide` decides.

    What depends on the user is read only where a user is signed in.
    """
    asked, who = checked.request, visit.signed_in
    if who is None:
        registration = CREATE in asked.prompt and ctx.settings.registration_open
        return State(signed_in=False, pending=visit.pending, wants_registration=registration)
    client, account = checked.client, who.account
    asks = checked.needs_consent
    held = held_scope(ctx, checked, who) if asks or visit.allowed else ""
    return State(
        signed_in=True,
        pending=visit.pending,
        fresh=visit.fresh,
        asked_again=visit.asked_again,
        wants_login=LOGIN in asked.prompt,
        other_user=checked.hinted not in (None, str(account.id)),
        wants_choice=bool(asked.prompt & {SELECT_ACCOUNT, CREATE}),
        chosen=visit.chosen,
        too_old=not visit.proved and _is_too_old(asked.max_age, who.proved_at),
        level_low=level_needed(ctx, checked, who) is not None,
        unconfirmed=lacks_confirmation(account, ctx.settings)
        or (client.require_confirmed and not account.confirmed),
        not_in_group=not client_groups.is_member(ctx.settings, account, client.require_group),
        consent_missing=asks
        and consents.is_missing(ctx, account.id, client.id, held, checked.audience),
        wants_consent=CONSENT in asked.prompt or checked.to_program or client.unverified,
        allowed=visit.allowed and was_shown(held, visit.shown),
    )


def was_shown(scope: str, shown: str | None) -> bool:
    """Whether the page of a form has shown all of ``scope``; so if the form does not say it."""
    return shown is None or set(parse(scope)).issubset(parse(shown))


def level_needed(ctx: Context, checked: Checked, who: SignedIn) -> str | None:
    """The level that the sign-in lacks, or None.

    It is for the request, the setting `second-factor`, or the group that the client requires.
    """
    wanted = [levels.wanted(checked.request.acr_values)]
    group = checked.client.require_group
    if level := client_groups.level_of(ctx.settings, who.account, group):
        wanted.append(level)
    if not is_met(ctx.settings, who.amr, clock.now()):
        wanted.append(AAL2)
    missing = [each for each in wanted if not reaches(acr_of(who.amr), each)]
    return max(missing, key=LEVELS.index, default=None)


def age_needed(checked: Checked, visit: Visit) -> timedelta | None:
    """How old the proof of who the user is may be; None if it may have any age."""
    asked = checked.request
    if visit.proved:
        return None
    if visit.fresh and LOGIN in asked.prompt and not visit.asked_again:
        return timedelta()
    return None if asked.max_age is None else timedelta(seconds=asked.max_age)


def held_scope(ctx: Context, checked: Checked, who: SignedIn) -> str:
    """The scope of the request without what no group of the user gives at this sign-in.

    Raises `Refused` if nothing is left.
    """
    holder = Holder(who.account.id, acr_of(who.amr), checked.client.id)
    held = group_scopes.held(ctx, holder, checked.scope)
    if checked.scope and not held:
        level = group_scopes.level_for(ctx, holder, checked.scope, a_part=True)
        reason = Reason.SCOPE_OF_LEVEL if level else Reason.SCOPE_OF_GROUP
        none = refused(checked, reason, who.account)
        none.details = {"sent": checked.scope, "refused": checked.scope}
        if level:
            none.details["expected"] = level
        raise none
    return held


def refused(checked: Checked, reason: Reason, account: Account | None = None) -> Refused:
    """The error that tells the application of ``reason``."""
    refused = Refused(reason)
    refused.client, refused.answer_to = checked.client, checked.answer_to
    refused.user_id = account.id if account else None
    return refused


def added_scopes(ctx: Context, checked: Checked, who: SignedIn) -> tuple[str, ...]:
    """What the application asks for besides what the user has allowed it before, if anything."""
    held = held_scope(ctx, checked, who)
    added = consents.missing(ctx, who.account.id, checked.client.id, held)
    return added if len(added) < len(parse(held)) else ()


def give_consent(ctx: Context, checked: Checked, who: SignedIn) -> None:
    """Store that the user allows what the application asks for, in the transaction of ``ctx``.

    Nothing is stored where no consent is needed.

    Raises `Refused` if no group of the user gives any of it, and `TooManyAttempts`.
    """
    consents.count(ctx, who.account.id)
    if checked.needs_consent:
        held = held_scope(ctx, checked, who)
        consents.give(ctx, who.account.id, checked.client.id, held, checked.audience)


def grant(ctx: Context, checked: Checked, who: SignedIn) -> str | None:
    """A code; None if the consent was withdrawn, or the user or the client deleted, just now.

    Call it outside of a transaction: it has one, which is committed on return. Raises
    `TooManyAttempts`.
    """
    consents.count(ctx, who.account.id)
    account, asked = who.account, checked.request
    return codes.store(
        ctx,
        NewCode(
            checked.client,
            account,
            who.facts,
            checked.answer_to.redirect_uri,
            asked.code_challenge,
            held_scope(ctx, checked, who),
            checked.audience,
            asked.nonce,
            by_consent=checked.needs_consent,
        ),
    )


def deny(ctx: Context, checked: Checked, account: Account) -> None:
    """Record that the user does not allow it. Raises `TooManyAttempts`."""
    consents.count(ctx, account.id)
    record(ctx, Event.AUTHORIZATION_DENIED, user_id=account.id, client_id=checked.client.id)


def record_refused(ctx: Context, refused: Refused) -> None:
    """Record why a request was refused, for ``authsite explain``, in a separate transaction."""
    details = {"reason": str(refused.reason), "error": refused.reason.error}
    record_apart(
        ctx,
        Event.AUTHORIZATION_REFUSED,
        user_id=refused.user_id,
        client_id=refused.client.id if refused.client else None,
        details={**details, **{name: shown(value) for name, value in refused.shown.items()}},
    )


def _is_too_old(max_age: int | None, proved: datetime | None) -> bool:
    """At ``max_age=0`` every sign-in is too old."""
    return max_age is not None and is_old(proved, timedelta(seconds=max_age), clock.now())
