"""The rate limits, one line each. Values have the notation of the limits library.

The library is imported only to parse a value that is not the default: importing it is slow.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class RateLimit(NamedTuple):
    """One rate limit; ``default`` is its value unless a setting changes it.

    ``key``: what is counted separately. ``text``: what it counts, for ``docs/settings.md``.
    ``failures``: the error codes that count; if it is empty, every request counts. ``by_view``: a
    view may name the limit (``rate_limit="register-address"``)
    and its key is the client address. ``growing_delay``: it counts wrong passwords, and after its
    one window the delay grows (rate_limit/delays.py). ``more_at_own``: addresses in `own-networks`
    have a multiple of it.
    """

    default: str
    key: str
    text: str
    failures: frozenset[str] = frozenset()
    by_view: bool = False
    growing_delay: bool = False
    more_at_own: bool = False

    @property
    def counts_address(self) -> bool:
        """Whether its key ends with the client address, of which networks are counted, too."""
        return self.key in _WITH_ADDRESS


_ADDRESS, _CLIENT_AND_ADDRESS = "client address", "client and address"
_PROVIDER_AND_ADDRESS = "provider and client address"
_ADDRESS_AND_USER = "client address, and user"  # each is counted for itself
_WITH_ADDRESS = (_ADDRESS, _CLIENT_AND_ADDRESS, _PROVIDER_AND_ADDRESS, _ADDRESS_AND_USER)
_RECIPIENT = "recipient's address"
RATE_LIMITS: Mapping[str, RateLimit] = MappingProxyType(
    {
        "login-account": RateLimit(
            "5/5 minutes",
            "user or login name",
            growing_delay=True,
            text="Failed logins for each user, or unknown login name.",
        ),
        "reauthentication": RateLimit(
            "5/5 minutes",
            "user and sign-in",
            growing_delay=True,
            text="Wrong current passwords for each user and sign-in.",
        ),
        "second-factor": RateLimit(
            "5/5 minutes",
            "user, and recognized browser or address",
            growing_delay=True,
            text="Wrong codes and passkeys of each user, as second factors, at every sign-in"
            " together.",
        ),
        "second-factor-address": RateLimit(
            "30/10 minutes", _ADDRESS, text="Wrong second factors for each client address."
        ),
        "email-code": RateLimit(
            "5/hour",
            "user",
            text="Codes by mail for each user, behind a right password or while signed in; more are"
            " not sent, and the response stays the same.",
        ),
        "email-sign-in": RateLimit(
            "5/hour",
            "stored e-mail address, and recognized browser",
            text="Sign-in codes by mail to one stored address; more are not sent, and the response"
            " stays the same.",
        ),
        "email-code-address": RateLimit(
            "20/hour",
            _ADDRESS,
            more_at_own=True,
            text="Codes by mail for each client address; more are not sent, and the response stays"
            " the same.",
        ),
        "factor-changes": RateLimit(
            "20/hour", "user", text="Changes of the second factors and passkeys of each user."
        ),
        "admin-api": RateLimit(
            "600/minute", "user or client", text="Requests to the API for administrators."
        ),
        "admin-export": RateLimit(
            "60/hour",
            "user",
            text="Exports by an administrator: parts of the audit trail, each with up to 20,000"
            " events, and data of users.",
        ),
        "admin-mail": RateLimit(
            "30/hour",
            "user or client",
            text="Mails to users that an administrator has sent: resets, verifications,"
            " invitations; and for each user apart, what the user is told of, such as sign-ins"
            " that were ended.",
        ),
        "invitation": RateLimit(
            "5/hour", "invitation", text="Mails with one invitation that are sent again."
        ),
        "invitation-link": RateLimit(
            "10/15 minutes",
            _ADDRESS,
            failures=frozenset({"invalid_token"}),
            by_view=True,
            text="Invitations that were not valid, for each client address.",
        ),
        "login-address": RateLimit(
            "30/minute",
            _ADDRESS,
            text="Logins for each client address; with another provider the start and the return"
            " count.",
        ),
        "provider-failures": RateLimit(
            "20/10 minutes",
            _PROVIDER_AND_ADDRESS,
            failures=frozenset({"provider_refused"}),
            text="Returns from each provider that were refused, for each client address.",
        ),
        "client-auth": RateLimit(
            "20/minute",
            _CLIENT_AND_ADDRESS,
            failures=frozenset({"invalid_client"}),
            text="Failed authentications and refused authorization codes for each OAuth client and"
            " client address; all unknown clients of one address together.",
        ),
        "authorize-address": RateLimit(
            "60/minute",
            _ADDRESS,
            text="Authorization requests that are refused, or stored because they are long, for"
            " each client address.",
        ),
        "authorize-user": RateLimit(
            "120/minute, 2000/hour",
            "user",
            text="Sign-ins to applications that each user allows or denies, and consents given or"
            " withdrawn.",
        ),
        "device-start": RateLimit(
            "30/hour",
            _CLIENT_AND_ADDRESS,
            text="Sign-ins that programs and devices begin, for each client and client address.",
        ),
        "device-code": RateLimit(
            "10/15 minutes",
            _ADDRESS_AND_USER,
            text="Wrong codes of devices at `/device`, for each client address and each user.",
        ),
        "registration-address": RateLimit(
            "20/hour",
            _ADDRESS,
            text="Clients that register themselves, for each client address.",
        ),
        "registration-total": RateLimit(
            "1000/day",
            "all together",
            text="Clients that registered themselves and are kept unused; with more the oldest of"
            " them is deleted.",
        ),
        "document-address": RateLimit(
            "20/hour",
            _ADDRESS,
            text="Documents of clients that are fetched, for each client address.",
        ),
        "register-address": RateLimit(
            "20/hour",
            _ADDRESS,
            by_view=True,
            more_at_own=True,
            text="Registrations for each client address.",
        ),
        "forgot-email": RateLimit(
            "5/hour",
            "stored e-mail address, and recognized address",
            text="Reset mails to one stored address; more are not sent, and the response stays"
            " the same.",
        ),
        "forgot-address": RateLimit(
            "20/hour",
            _ADDRESS,
            by_view=True,
            more_at_own=True,
            text="Reset requests for each client address.",
        ),
        "verification": RateLimit(
            "6/minute, 8/hour",
            "user",
            text="Verification mails that a user requests with an access token or on the account"
            " page.",
        ),
        "verification-email": RateLimit(
            "5/hour",
            "stored e-mail address",
            text="Verification mails to one stored address, requested without signing in; more"
            " are not sent, and the response stays the same.",
        ),
        "verification-address": RateLimit(
            "20/hour",
            _ADDRESS,
            by_view=True,
            text="Verification mails requested without signing in, for each client address.",
        ),
        "mail-recipient": RateLimit(
            "5/hour",
            _RECIPIENT,
            text="Mails to one address that another account causes; more are not sent, and the"
            " response stays the same.",
        ),
        "unconfirmed-recipient": RateLimit(
            "10/hour",
            _RECIPIENT,
            text="Mails to one unconfirmed address that the account with this address causes"
            " while signed in; more are not sent, and the response stays the same.",
        ),
        "security-notice": RateLimit(
            "5/day",
            "user and kind of notice",
            text="Notices of each kind to each user: new devices, apps that were signed out.",
        ),
        "failed-logins-notice": RateLimit(
            "1/day", "user or login name", text="Notices to each user about failed logins."
        ),
        "login-names": RateLimit(
            "10/hour",
            "user",
            text="Attempts of each user to change the username or phone number, or to change to"
            " a taken e-mail address.",
        ),
        "profile": RateLimit("60/hour", "user", text="Changes of the profile by each user."),
        "personal-tokens": RateLimit(
            "20/hour", "user", text="Personal access tokens that each user creates."
        ),
        "export": RateLimit("5/day", "user", text="Exports of the own data, by each user."),
        "password-check": RateLimit(
            "60/minute",
            _ADDRESS,
            by_view=True,
            text="Checks of a new password while it is typed on a page, for each client address.",
        ),
        "reset-token": RateLimit(
            "10/15 minutes",
            _ADDRESS,
            failures=frozenset({"invalid_token"}),
            by_view=True,
            text="Failed resets for each client address.",
        ),
    }
)
_MAX_WINDOW = 366 * 86400  # seconds
_MAX_AMOUNT = 1_000_000


def rate(text: str) -> str:
    """One limit, or several that apply together (``6/minute, 8/hour``).

    Each allows at least 1, in at most a year. Raises `ValueError`.
    """
    from limits import parse_many

    try:
        # The library reads `5/0 minutes` as `5/minute`, which is not what was meant.
        valid = not re.search(r"(/|per)\s*0", text) and all(
            1 <= item.amount <= _MAX_AMOUNT and item.get_expiry() <= _MAX_WINDOW
            for item in parse_many(text)
        )
    except ValueError:
        valid = False
    if not valid:
        raise ValueError("give a limit such as 5/5 minutes, or several: 6/minute, 8/hour")
    return text


def single_rate(text: str) -> str:
    """One limit, for a growing delay, which has only one window. Raises `ValueError`."""
    if re.search(r"[;,|]", text):
        raise ValueError("give one limit such as 5/5 minutes: a growing delay follows it")
    return rate(text)


def per_second(text: str) -> float:
    """How many requests per second a limit allows on average; of several limits, the lowest."""
    from limits import parse_many

    return min(limit.amount / limit.get_expiry() for limit in parse_many(text))
