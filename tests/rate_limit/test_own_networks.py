"""`own-networks`: at the addresses of an office more people may register and ask for mails."""

import pytest

from tests.support.settings import message

FEW = {
    "limits": "on",
    "own_networks": "192.0.2.0/24 2001:db8:7::/48",
    "limits.register_address": "1/hour",
    "limits.forgot_address": "1/hour",
    "limits.verification_address": "1/hour",
}


@pytest.fixture
def site(site_with):
    return site_with(**FEW)


def forgot(site, address, times):
    """How many of the requests for a reset mail are within the limit."""
    body = {"email": "nobody@example.com", "reset_url": "http://localhost/password/reset"}
    environ = {"REMOTE_ADDR": address}
    answers = [
        site.http.post_json("/v1/password/forgot", body, status="*", extra_environ=environ)
        for _ in range(times)
    ]
    return [each.status_int for each in answers].count(202)


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("192.0.2.9", 20),
        ("::ffff:192.0.2.8", 20),
        ("2001:db8:7:1::9", 20),
        ("198.51.100.9", 1),
        ("2001:db8:8:1::9", 1),
    ],
)
def test_there_a_limit_is_twenty_times_as_large(site, address, allowed):
    assert forgot(site, address, 22) == allowed


def test_other_limits_stay(site):
    answers = [
        site.http.post(
            "/email/link",
            {"csrf_token": site.http.get("/email/link").forms[0]["csrf_token"].value,
             "email": "nobody@example.com"},
            status="*",
        ).status_int
        for _ in range(3)
    ]  # fmt: skip
    assert answers == [303, 429, 429]


def test_what_is_no_network_is_refused():
    assert "10.0.0.0/8" in message({"authsite.own-networks": "the office"})
