"""Where redirects lead: to our own address, whatever the request says of itself (H6, trial 1)."""

import pytest

from tests.support.host import hello

BASE = "https://auth.example.org"
HOSTILE = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http"}
PROXY = {"REMOTE_ADDR": "10.0.0.1"}


@pytest.mark.parametrize(
    ("settings", "headers"),
    [
        ({"base_url": BASE}, {"Host": "auth.example.org"}),
        ({"base_url": BASE}, HOSTILE),
        ({"base_url": BASE, "trusted_proxies": "10.0.0.0/8"}, HOSTILE),
        (
            {"trusted_proxies": "10.0.0.0/8"},
            {"X-Forwarded-Host": "auth.example.org", "X-Forwarded-Proto": "https"},
        ),
    ],
)
def test_a_redirect_leads_to_our_own_address(site_with, settings, headers):
    """H6, trial 1 and 12: behind a TLS proxy, and with a foreign Host."""
    site = site_with(**settings)
    answer = site.http.get("/account", headers=headers, extra_environ=PROXY, status=302)
    assert answer.headers["Location"] == f"{BASE}/login?next=/account"


def test_the_guard_of_a_hosts_page_leads_to_our_own_address(host_with):
    """H6: the redirect is raised inside the guard of a route of the host."""

    def guarded(config):
        config.add_route("billing", "/billing", guard="web")
        config.add_view(hello, route_name="billing")

    site = host_with(guarded, base_url=BASE)
    answer = site.http.get("/billing?x=1", headers=HOSTILE, status=302)
    assert answer.headers["Location"] == f"{BASE}/login?next=/billing%3Fx%3D1"
