"""Whose account is it? The decision at every return from a provider, as one function.

An identity is known, or it is new; the account with the same e-mail address says nothing about
whose it is until the address is proved, and even then the account may have been registered by a
stranger, who knows its password. So an account that was there is never joined silently.
"""

from enum import Enum
from typing import NamedTuple


class Holder(Enum):
    """Who has the e-mail address here."""

    NONE = "no account"
    CONFIRMED = "an account that has confirmed it"
    UNCONFIRMED = "an account that has never confirmed it: anyone may have registered it"


class Step(Enum):
    """What happens next."""

    NOT_ALLOWED = "refused: the tenant or domain is not among those of the setting"
    SIGN_IN = "the user of the identity signs in"
    ASK_ADDRESS = "a form asks for the e-mail address"
    PROVE_ADDRESS = "a mailed link has to prove the address; until then nothing is made"
    CREATE = "a form creates the user"
    CLOSED = "refused: no new user may register with this identity"
    CONNECT = "the owner of the account proves it, and the identity is linked"
    CONNECT_LATER = "a page says how to link the identity from the account page"
    CLAIM = "it is mine, or start afresh"


class Case(NamedTuple):
    """What the decision depends on.

    ``allowed``: whether tenant and domain are among those of the setting; None if that depends on
    an address that is not known yet. ``vouched``: whether that was said now, of a verified address:
    who left a company has the identity still, and not its mailbox. ``proved``: whether ``address``
    is proved, by a provider that is trusted or by a mailed link. ``may_register``: whether a new
    user may have the address. ``asks``: the setting `link` is ``ask``.
    """

    known: bool
    allowed: bool | None
    vouched: bool
    address: str | None
    proved: bool
    holder: Holder
    may_register: bool
    asks: bool


def decide(case: Case) -> Step:
    """The next step of a sign-in with a provider; the conditions are asked in this order."""
    if case.allowed is False or (case.known and not case.allowed):
        return Step.NOT_ALLOWED
    if case.known and not case.vouched:
        return Step.PROVE_ADDRESS if case.address else Step.NOT_ALLOWED
    if case.known:
        return Step.SIGN_IN
    if case.address is None:
        return Step.ASK_ADDRESS
    if not case.proved:
        return Step.PROVE_ADDRESS
    if case.holder is Holder.NONE:
        return Step.CREATE if case.may_register else Step.CLOSED
    if case.holder is Holder.UNCONFIRMED:
        return Step.CLAIM
    return Step.CONNECT if case.asks else Step.CONNECT_LATER
