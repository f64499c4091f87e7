"""A user as plain values, read outside any transaction."""

import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Annotated, NamedTuple
from uuid import UUID

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session
from typing_extensions import TypedDict

from authsite.platform.db.prepared import columns_of
from authsite.platform.http.api_metadata import response_body
from authsite.platform.runtime.clock import rfc3339
from authsite.platform.settings import Settings

from .models import User


class Account(NamedTuple):
    """A user whose credential was checked."""

    id: UUID
    email: str
    username: str | None
    phone: str | None
    name: str | None
    epoch: int
    email_verified_at: datetime | None
    created_at: datetime
    updated_at: datetime
    labels: str | None = None  # the groups, as in the column
    language: str | None = None  # of mails to the user

    @property
    def confirmed(self) -> bool:
        """Whether the user has confirmed the e-mail address."""
        return self.email_verified_at is not None

    def confirmed_at(self, moment: datetime) -> "Account":
        """The account as it is when the address has been confirmed by this ``moment``."""
        return self if self.confirmed else self._replace(email_verified_at=moment)


def under_new_epoch(account: Account, epoch: int) -> Account:
    """The account after its user's epoch was raised in this request."""
    return account._replace(epoch=epoch)


def lacks_confirmation(account: Account | None, settings: Settings) -> bool:
    """Whether the settings require a confirmed e-mail address and this user has none."""
    return settings.confirmation_required and account is not None and not account.confirmed


@dataclass(frozen=True, slots=True)
class SignedInUser:
    """A user, with the session of the request: a token family or a browser session.

    ``proved_by`` and ``auth_at``: how and when the user proved to be who they are.
    """

    account: Account
    family_id: UUID | None = None
    browser_session_id: UUID | None = None
    proved_by: tuple[str, ...] = ()
    auth_at: datetime | None = None

    @property
    def session_id(self) -> UUID | None:
        """The id of the session, of either kind."""
        return self.family_id or self.browser_session_id


_MOMENT = Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])


@response_body("A user. Login names that are not enabled are null.")
class UserAnswer(TypedDict):
    id: Annotated[
        str,
        Field(
            json_schema_extra={"format": "uuid"}, examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"]
        ),
    ]
    """Permanent and unique."""
    email: Annotated[
        str, Field(json_schema_extra={"format": "email"}, examples=["ann@example.com"])
    ]
    """The e-mail address."""
    username: str | None
    """The username."""
    phone: str | None
    """The phone number in the format of E.164."""
    name: Annotated[str | None, Field(examples=["Ann Lee"])]
    """The user's name."""
    confirmed: bool
    """Whether the user has confirmed the e-mail address."""
    email_verified_at: Annotated[str, _MOMENT] | None
    """When the user confirmed the e-mail address."""
    created_at: Annotated[str, _MOMENT]
    """When the user was created."""
    updated_at: Annotated[str, _MOMENT]
    """When the user was last changed."""


ACCOUNT_COLUMNS = columns_of(User, Account)


def account_of(user: User) -> Account:
    """The values of a row that the request's transaction has read or written."""
    return Account(*(getattr(user, name) for name in Account._fields))


def as_json(user: Account | User, enabled: Collection[str]) -> UserAnswer:
    """The user object of the API: all fields of a user that any answer contains.

    ``enabled``: the kinds of login name in setting `login-identifiers`; others are null.
    """
    verified = user.email_verified_at
    return {
        "id": str(user.id),
        "email": user.email,
        "username": user.username if "username" in enabled else None,
        "phone": user.phone if "phone" in enabled else None,
        "name": user.name,
        "confirmed": verified is not None,
        "email_verified_at": rfc3339(verified) if verified else None,
        "created_at": rfc3339(user.created_at),
        "updated_at": rfc3339(user.updated_at),
    }


# How strong a sign-in is: its authentication context class, a pure function of its ``amr``.
#
# The levels are ``aal1`` (one factor), ``aal2`` (two factors, as the AAL2 of NIST SP 800-63B-4)
# and ``phr`` (phishing-resistant: a passkey). ``amr`` has the values of RFC 8176 as far as it has
# one; ``idp`` (another provider), ``email`` (a mailed link or code), ``recovery`` (a recovery
# code), ``device`` (a remembered browser), ``undated`` (the provider did not tell when the user
# proved there to be who they are) and ``prompted`` (the provider was asked to have the user prove
# it again) are ours.


AAL1, AAL2, PHR = "aal1", "aal2", "phr"
LEVELS = (AAL1, AAL2, PHR)
"""From the lowest to the highest."""

PASSWORD = ("pwd",)
PROVIDER = ("idp",)
EMAIL = ("email",)
TOTP = ("otp",)
RECOVERY_CODE = ("recovery",)
PASSKEY = ("pop",)  # proof of possession of a key
PASSKEY_OF_USER = ("pop", "user")  # the authenticator has also verified the user
REMEMBERED = ("device",)
UNDATED = ("undated",)
PROMPTED = ("prompted",)

_FIRST = frozenset((*PASSWORD, *PROVIDER, *EMAIL))
_SECOND = frozenset((*TOTP, *RECOVERY_CODE))
_PASSKEY_OF_USER = frozenset(PASSKEY_OF_USER)
_OWN = frozenset((*PROVIDER, *EMAIL, *REMEMBERED, *UNDATED, *PROMPTED))
# Proofs of who the user is, which the user gives to us. A key that is touched without them is a
# second factor, as the code of an app is.
_DATED = frozenset((*PASSWORD, *EMAIL, PASSKEY_OF_USER[1]))


# Each guarded request asks several times, and there are few combinations.
@lru_cache(maxsize=256)
def acr_of(amr: tuple[str, ...]) -> str:
    """The authentication context class of a sign-in (OpenID Connect Core 1.0, section 2)."""
    found = frozenset(amr)
    first = found & _FIRST
    if found >= _PASSKEY_OF_USER or (first and found.issuperset(PASSKEY)):
        return PHR
    return AAL2 if first and found & _SECOND else AAL1


def reaches(acr: str | None, wanted: str) -> bool:
    """Whether a sign-in of the level ``acr`` is enough for ``wanted``; unknown ones never are."""
    if acr not in LEVELS or wanted not in LEVELS:
        return False
    return LEVELS.index(acr) >= LEVELS.index(wanted)


def proved_at(amr: Collection[str], auth_at: datetime | None) -> datetime | None:
    """When the user has proved to be who they are; None if it is not known.

    ``auth_at``: when the sign-in took place. A provider may have signed the user in without asking:
    unless it tells the time, only a proof that the user gives to us has one.
    """
    undated = UNDATED[0] in amr and _DATED.isdisjoint(amr)
    return None if undated else auth_at


def is_old(auth_at: datetime | None, max_age: timedelta, now: datetime) -> bool:
    """Whether the last proof of a sign-in is ``max_age`` ago, or longer; None is too old.

    Another machine's clock may be ahead: a proof in the future is a recent one.
    """
    return auth_at is None or now - auth_at >= max_age


@lru_cache(maxsize=256)
def shown_amr(amr: tuple[str, ...]) -> tuple[str, ...]:
    """``amr`` as applications see it: what has a value in RFC 8176, section 2.

    A recovery code is a one-time password. From ``aal2`` on it includes ``mfa``.
    """
    own = ["otp" if each in RECOVERY_CODE else each for each in amr if each not in _OWN]
    shown = tuple(dict.fromkeys(own))
    return (*shown, "mfa") if reaches(acr_of(amr), AAL2) else shown


# Lock the rows of several users.


def lock_all(db: Session, user_ids: Collection[uuid.UUID]) -> None:
    """Lock the rows of these users, as `authsite.users.service.lock` does for one.

    It locks them in the order of their ids: transactions in different orders would deadlock.
    """
    of_users = select(User.id).where(User.id.in_(user_ids)).order_by(User.id)
    db.execute(of_users.with_for_update(key_share=True))


# Describe user agents in few words, such as "Firefox" and "Linux", for the list of sign-ins.
#
# The patterns cover common browsers and systems. Their order matters: every browser claims to be
# Mozilla, Edge also Chrome, Chrome also Safari. A user agent is a claim of the client, so it is
# only shown.


_MAX_SHOWN = 40  # characters

_BROWSERS = (
    ("Edge", r"\bEdg(e|A|iOS)?/"),
    ("Opera", r"\b(OPR|OPT|Opera)/"),
    ("Samsung Internet", r"\bSamsungBrowser/"),
    ("Vivaldi", r"\bVivaldi/"),
    ("DuckDuckGo", r"\bDuckDuckGo/|\bDdg/"),
    ("Firefox", r"\b(Firefox|FxiOS)/"),
    ("Chrome", r"\b(Headless)?(Chrome|CriOS)/"),
    ("Chromium", r"\bChromium/"),
    ("Safari", r"\bVersion/[\d.]+ .*\bSafari/|\bAppleWebKit/.*\bMobile/"),
)
_SYSTEMS = (
    ("iPhone", r"\biPhone\b"),
    ("iPad", r"\biPad\b"),
    ("Android", r"\bAndroid\b"),
    ("ChromeOS", r"\bCrOS\b"),
    ("Windows", r"\bWindows\b"),
    ("Mac", r"\bMac(intosh|OS| OS X)\b"),
    ("Linux", r"\bLinux\b|\bX11\b"),
)
_PRODUCT = re.compile(r"[A-Za-z][A-Za-z0-9 ._+-]*")


class Agent(NamedTuple):
    """The names of a program and its system; None where the user agent does not contain one."""

    program: str | None
    system: str | None


@lru_cache(maxsize=1024)  # lists of sign-ins and events have the same ones again and again
def describe(agent: str | None) -> Agent:
    """The names of program and system in ``agent``, a User-Agent header."""
    text = (agent or "")[:300]
    return Agent(_first(_BROWSERS, text) or _product(text), _first(_SYSTEMS, text))


def in_words(agent: str | None) -> str:
    """``agent`` for an administrator, in English: "Firefox on Windows", or a dash."""
    return " on ".join(filter(None, describe(agent))) or "–"


def _first(patterns: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((name for name, pattern in patterns if re.search(pattern, text)), None)


def _product(text: str) -> str | None:
    """The name of the first product (RFC 9110, section 10.1.5), such as ``curl``."""
    found = _PRODUCT.match(text)
    name = found[0].strip()[:_MAX_SHOWN] if found else ""
    return None if not name or name == "Mozilla" else name
