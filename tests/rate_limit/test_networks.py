"""IPv6: one address is a /64, and the /48 around it has ten times the limit of one."""

import pytest

from authsite.platform.rate_limit.limiter import network_of, wider_network
from authsite.platform.settings.rate_limits import RATE_LIMITS
from tests.support.site import ClientKeys

PASSWORD = "purple wolf 77 tea"


def address(number, site="2001:db8:7"):
    """An address in the ``number``-th /64 of a /48."""
    return f"{site}:{number:x}::1"


def register(site, number, where):
    body = {"email": f"u{number}@example.com", "password": PASSWORD}
    environ = {"REMOTE_ADDR": where}
    answer = site.http.post_json("/v1/register", body, status="*", extra_environ=environ)
    return answer.status_int


@pytest.mark.parametrize(
    ("given", "narrow", "wide"),
    [
        ("2001:db8:7:1::9", "2001:db8:7:1::/64", "2001:db8:7::/48"),
        ("192.0.2.1", "192.0.2.1", None),
        (None, "-", None),
    ],
)
def test_an_address_has_a_network_and_that_of_ipv6_a_wider_one(given, narrow, wide):
    assert network_of(given) == narrow
    assert wider_network(narrow) == wide


def test_the_limits_that_count_an_address_are_those_of_the_documentation():
    assert {name for name, limit in RATE_LIMITS.items() if limit.counts_address} == {
        "login-address",
        "client-auth",
        "register-address",
        "forgot-address",
        "verification-address",
        "password-check",
        "reset-token",
        "provider-failures",
        "authorize-address",
        "device-start",
        "device-code",
        "registration-address",
        "document-address",
        "second-factor-address",
        "email-code-address",
        "invitation-link",
    }
    assert all(limit.counts_address for limit in RATE_LIMITS.values() if limit.by_view)


@pytest.mark.control("L05")
def test_s2_ten_addresses_of_one_48_use_up_what_it_has(site_with, frozen):
    site = site_with(limits="on", limits_register_address="2/hour")
    first = [register(site, n, address(n // 2)) for n in range(20)]
    assert first == [201] * 20
    assert register(site, 20, address(99)) == 429  # an address that has registered nothing
    assert register(site, 20, address(1, "2001:db8:8")) == 201
    assert register(site, 21, "192.0.2.1") == 201
    frozen.advance(3600)
    assert register(site, 22, address(99)) == 201


@pytest.mark.control("L05")
def test_what_one_address_has_too_many_of_is_not_counted_for_its_48(site_with, frozen):
    site = site_with(limits="on", limits_register_address="2/hour")
    assert [register(site, n, address(1)) for n in range(40)] == [201] * 2 + [429] * 38
    assert [register(site, 40 + n, address(2 + n)) for n in range(18)] == [201] * 18
    assert register(site, 60, address(99)) == 429


def test_logins_and_failed_clients_are_counted_for_a_48(site_with, frozen):
    """They do not go through the view's option."""
    site = site_with(limits="on", limits_login_address="1/minute", limits_client_auth="1/minute")
    keys = site.client()

    def statuses(client):
        return [
            site.try_login(client, username=f"u{n}@example.com", address=address(n)).status_int
            for n in range(12)
        ]

    assert statuses(keys) == [400] * 10 + [429] * 2
    assert statuses(ClientKeys(keys.client_id, "wrong")) == [401] * 10 + [429] * 2
    assert statuses(ClientKeys("unknown", "wrong")) == [401] * 10 + [429] * 2


def test_a_count_that_is_given_back_is_given_back_to_the_48_too(site_with, frozen):
    """`reset-token` counts failures: a success counts nowhere."""
    site = site_with(limits="on", limits_reset_token="1/minute")

    def reset(number, token):
        body = {"email": "ann@example.com", "token": token, "password": f"{PASSWORD} {number}"}
        environ = {"REMOTE_ADDR": address(number)}
        answer = site.http.post_json("/v1/password/reset", body, status="*", extra_environ=environ)
        return answer.status_int

    user = site.user()
    assert [reset(n, site.reset_token(user)) for n in range(12)] == [200] * 12
    assert [reset(20 + n, "wrong") for n in range(10)] == [422] * 10
    assert reset(99, "wrong") == 429


def test_recognition_stays_with_the_64(site_with, frozen):
    """A neighbor in the same /48 does not get the budget of the owner's address."""
    site = site_with(limits="on", limits_login_address="900/minute")
    site.user()
    keys = site.client()
    assert site.try_login(keys, "correct horse battery", address=address(1)).status_int == 200
    assert [site.try_login(keys, address=address(2)).status_int for _ in range(6)] == [
        *[400] * 5,
        429,
    ]
    assert site.try_login(keys, "correct horse battery", address=address(3)).status_int == 429
    assert site.try_login(keys, "correct horse battery", address=address(1)).status_int == 200
