"""What happens with a valid authorization request: one table, of which the first row holds."""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from authsite.oauth.authorization_reasons import Reason


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
