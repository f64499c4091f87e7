"""Parsers of the values of *Second factors and passkeys*."""

import re
from collections.abc import Callable
from datetime import date
from typing import Literal

from .values import one_of

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
_APP_ORIGIN = re.compile(r"android:apk-key-hash:[A-Za-z0-9_-]{43}")
_SITE_ORIGIN = re.compile(r"(https://[a-z0-9.-]+|http://localhost)(:[0-9]{1,5})?")

# Whether users need a second factor.
second_factor: Callable[[str], Literal["optional", "required"]] = one_of(
    "optional", "required", message="give optional or required"
)
# What a right password needs where the user has not signed in before.
unrecognized_login: Callable[[str], Literal["allow", "code"]] = one_of(
    "allow", "code", message="give allow or code"
)


def factors(text: str) -> tuple[str, ...]:
    """A list of ``totp`` and ``passkey``, each once; it may be empty."""
    found = tuple(text.split())
    if len(set(found)) != len(found) or not {"totp", "passkey"}.issuperset(found):
        raise ValueError("give a list of totp and passkey, each at most once")
    return found


def day(text: str) -> date:
    """A day such as ``2027-01-31``."""
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise ValueError("give a day such as 2027-01-31")


def rp_id(text: str) -> str:
    """A domain name in lower case; no address, and no port.

    The domain of passkeys (Web Authentication Level 3, relying party identifier).
    """
    if not _DOMAIN.fullmatch(text) or text.rpartition(".")[2].isdigit():
        raise ValueError("give a domain such as example.org, without a scheme, port or path")
    return text


def passkey_origin(text: str) -> str:
    """The origin of a site or an Android app, as browsers and apps send it."""
    if not (_APP_ORIGIN.fullmatch(text) or _SITE_ORIGIN.fullmatch(text)):
        raise ValueError(
            "give an origin such as https://example.net, without a path,"
            " or android:apk-key-hash:… with the 43 characters of the hash"
        )
    return text
