"""What a long parameter costs: linear in its length, whichever it is, and at both endpoints."""

import pytest

from authsite.oauth.authorization import request
from authsite.oauth.authorization.logout import pages as logout
from tests.http.test_linear import FORM, SIZES, filled, grows_faster
from tests.support.authorizing import BASE
from tests.support.timing import asking

UNITS = ("a-", "-", "a+", "a.", "%2F", "[", "%C3%A9")
LONGER = 3.5  # times `SIZES`: both longer than a request may be, and short enough to be read
PARAMETERS = [
    *(("/oauth/authorize", name) for name in (*request.KNOWN, "unknown")),
    *(("/oauth/logout", name) for name in logout.KNOWN),
]


@pytest.mark.parametrize(("path", "name"), PARAMETERS)
def test_a_parameter_costs_what_its_length_is(issuer, app, path, name):
    """By POST, whose body may be longer than a URL; all of them are refused with the same page."""
    start = "" if name == "client_id" else f"client_id={app.client_id}&"
    if path == "/oauth/logout":
        start += "decision=sign_out&"  # as the form on its page
    for unit in UNITS:
        calls = {}
        for size in SIZES:
            body = filled(int(LONGER * size), unit, f"{start}{name}=").encode()
            calls[size] = asking(issuer.app, "POST", f"{BASE}{path}", body, CONTENT_TYPE=FORM)
            assert calls[size]() < 500
        assert grows_faster(calls) is None, unit
