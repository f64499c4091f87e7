"""What a stolen sign-in may use up without a proof, and that the owner still can do everything."""

import pytest

from authsite.platform.settings.rate_limits import RATE_LIMITS
from tests.support.authorizing import BASE, OPENID
from tests.support.counting import watched
from tests.support.site import PASSWORD, bearer

from . import test_thief as thief

WITHOUT_PROOF = {
    "reauthentication": "each sign-in has a separate limit",
    "second-factor": "wrong codes of a step-up count under the sign-in",
    "email-code": "recognized browsers, and the fresh sign-ins of the user, have separate limits",
    "verification": "a mail to the own address, which the former mail does as well",
    "unconfirmed-recipient": "the same mail, to an address that is not confirmed",
    "login-names": "a wish of the owner that can wait",
    "profile": "a wish of the owner that can wait",
    "device-code": "the other device begins again, or uses a browser",
    "authorize-user": "a sign-in to an application, which the thief has as well",
    "admin-api": "an administrator's own requests; the console does not count",
    "admin-export": "the same, an hour later",
    "admin-mail": "the same, an hour later",
    "login-account": "a recognized browser or address has a separate limit, and a reset ends it",
    "security-notice": "a notice that the user has got five times today",
    "failed-logins-notice": "a notice that the user has got today",
    "forgot-email": "a recognized browser or address has a separate limit",
    "email-sign-in": "a recognized browser or address has a separate limit",
}
"""Limits of one user that can be spent without a proof, and why the owner can do without."""
WITH_PROOF = {"factor-changes", "personal-tokens", "export"}


@pytest.fixture
def site(site_with):
    limits = {"limits": "on", "limits_storage": "database", "limits.login-address": "1000/minute"}
    return thief.with_owner(site_with(**OPENID, **limits))


def test_every_limit_of_a_user_says_who_can_spend_it():
    """A new one has to: can a stolen sign-in keep the owner from what only the owner needs?"""
    of_users = {name for name, limit in RATE_LIMITS.items() if "user" in limit.key}
    of_users |= {"forgot-email", "email-sign-in", "unconfirmed-recipient"}
    assert of_users == WITHOUT_PROOF.keys() | WITH_PROOF


def test_what_asks_for_a_proof_counts_after_it_alone(site):
    spent = set()
    for route in thief.routes(site):
        token = thief.stolen(site, minutes=11)
        with watched(site) as seen:
            thief.call(site, *route, token)
        spent |= {name for each in seen for name in each.limits}
    assert spent & WITH_PROOF == set()
    assert len(spent) > 3


def test_to_forget_browsers_uses_up_no_change_of_factors(site):
    token = thief.stolen(site, minutes=1)
    path = f"{BASE}/v1/user/remembered-browsers"
    for _ in range(25):
        site.http.delete(path, headers=bearer(token), status=204)
    body = {"current_password": PASSWORD}
    site.http.post_json(f"{BASE}/v1/user/recovery-codes", body, headers=bearer(token), status=200)
