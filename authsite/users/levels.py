"""How strong a sign-in is: its authentication context class, a pure function of its ``amr``.

The levels are ``aal1`` (one factor), ``aal2`` (two factors, as the AAL2 of NIST SP 800-63B-4) and
``phr`` (phishing-resistant: a passkey). ``amr`` has the values of RFC 8176 as far as it has one;
``idp`` (another provider), ``email`` (a mailed link or code), ``recovery`` (a recovery code),
``device`` (a remembered browser), ``undated`` (the provider did not tell when the user proved there
to be who they are) and ``prompted`` (the provider was asked to have the user prove it again) are
ours.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import lru_cache

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
