"""An IPv4 client that an IPv6 socket has taken in is an IPv4 client, everywhere."""

import pytest
from sqlalchemy import select

from authsite.platform.audit.models import AuditEvent
from authsite.sign_in.sessions.models import BrowserSession
from tests.support import administrators
from tests.support.pages import sign_in

MAPPED = "::ffff:192.0.2.7"
PLAIN = "192.0.2.7"


def addresses(site, model):
    with site.db() as db:
        return set(db.scalars(select(model.address)))


@pytest.mark.parametrize("mapped", [MAPPED, "::ffff:c000:207", "::FFFF:192.0.2.7"])
def test_sessions_events_and_lists_have_the_ipv4_address(site, mapped):
    site.user()
    site.http.extra_environ["REMOTE_ADDR"] = mapped
    sign_in(site)
    assert addresses(site, BrowserSession) == {PLAIN}
    assert PLAIN in addresses(site, AuditEvent)
    assert "::ffff" not in str(addresses(site, AuditEvent)).lower()
    assert PLAIN in site.http.get("/account/security").text


@pytest.mark.parametrize("network", ["192.0.2.0/24", "::ffff:192.0.2.0/120"])
def test_a_network_of_administrators_has_it(site_with, network):
    site = site_with(**administrators.SETTINGS, admin_networks=network)
    administrators.signed_in(site, "owner")
    for address, status in ((MAPPED, 200), ("::ffff:198.51.100.1", 404)):
        site.http.get("/admin", extra_environ={"REMOTE_ADDR": address}, status=status)


@pytest.mark.parametrize("network", ["203.0.113.0/24", "::ffff:203.0.113.9"])
def test_what_a_proxy_forwards_is_it_too(site_with, network):
    site = site_with(trusted_proxies=network)
    site.user()
    site.http.extra_environ["REMOTE_ADDR"] = "::ffff:203.0.113.9"
    site.http.extra_environ["HTTP_X_FORWARDED_FOR"] = f"198.51.100.1, [{MAPPED}]:4711"
    sign_in(site)
    assert addresses(site, BrowserSession) == {PLAIN}


def test_both_forms_are_one_address_of_the_limits(site_with):
    site = site_with(limits="on", limits_register_address="2/hour")
    statuses = []
    for number, address in enumerate((MAPPED, PLAIN, MAPPED)):
        body = {"email": f"x{number}@example.com", "password": "purple wolf 77 tea"}
        environ = {"REMOTE_ADDR": address}
        answer = site.http.post_json("/v1/register", body, status="*", extra_environ=environ)
        statuses.append(answer.status_int)
    assert statuses == [201, 201, 429]
