"""What a proxy says of a request: believed from ``trusted-proxies``, and from no other address."""

import pytest

from authsite.platform.audit.models import AuditEvent
from tests.support.mails import link_in, rows

FORGOT = "/v1/password/forgot"
ONE = {"trusted_proxies": "10.0.0.0/8 2001:db8::/32"}
ANY = {"trusted_proxies": "*"}
EVIL = "evil.example"


def ask(site, peer="10.0.0.1", base_url="http://localhost", status=202, **headers):
    """A request through ``peer``; the address that is on record for it, and the mail's base."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"email": "ann@example.com", "reset_url": f"{base_url}/password/reset"}
    environ = {"REMOTE_ADDR": peer}
    site.http.post_json(FORGOT, body, headers=headers, extra_environ=environ, status=status)
    with site.db() as db:
        return db.query(AuditEvent).order_by(AuditEvent.id.desc()).first().address


@pytest.mark.control("L13")
@pytest.mark.parametrize(
    ("peer", "header", "address"),
    [
        ("10.0.0.1", "203.0.113.5", "203.0.113.5"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.5", "203.0.113.5"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.5, 10.0.0.2", "203.0.113.5"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "203.0.113.5:4711", "203.0.113.5"),
        ("10.0.0.1", "[2001:4860::1]:4711", "2001:4860::1"),
        ("10.0.0.1", "2001:4860::1", "2001:4860::1"),
        ("10.0.0.1", "203.0.113.5, rubbish", "10.0.0.1"),
        ("10.0.0.1", "rubbish, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.5,", "10.0.0.1"),
        ("10.0.0.1", "fe80::1%" + "x" * 3000, "10.0.0.1"),
        ("::ffff:10.0.0.1", "203.0.113.5", "203.0.113.5"),
        ("2001:db8::7", "203.0.113.5", "203.0.113.5"),
        ("11.0.0.1", "203.0.113.5", "11.0.0.1"),
        ("::ffff:11.0.0.1", "203.0.113.5", "11.0.0.1"),
    ],
)
def test_the_client_is_the_right_most_address_that_is_no_proxy_of_ours(
    site_with, peer, header, address
):
    assert ask(site_with(**ONE), peer, X_Forwarded_For=header) == address


@pytest.mark.control("L13")
def test_with_a_star_the_peer_alone_is_the_proxy(site_with):
    site = site_with(**ANY)
    assert ask(site, "192.0.2.9", X_Forwarded_For="1.1.1.1, 2.2.2.2") == "2.2.2.2"


@pytest.mark.control("L13")
@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("for=203.0.113.5", "203.0.113.5"),
        ("for=198.51.100.1, for=203.0.113.5;proto=http", "203.0.113.5"),
        ('For="[2001:4860::1]:4711"', "2001:4860::1"),
        ("for=203.0.113.5, for=unknown", "10.0.0.1"),
        ("for=203.0.113.5, for=_hidden", "10.0.0.1"),
        ("proto=http", "10.0.0.1"),
    ],
)
def test_forwarded_says_the_same_where_the_other_header_is_not_there(site_with, forwarded, address):
    site = site_with(**ONE)
    assert ask(site, Forwarded=forwarded) == address
    assert ask(site, Forwarded=forwarded, X_Forwarded_For="192.0.2.44") == "192.0.2.44"


def test_l5_only_the_nearest_hops_are_read(site_with):
    """L5, S5: what a client writes before them neither counts nor costs anything."""
    site = site_with(**ONE)
    client = "203.0.113.5"
    hops = ", 10.0.0.9" * 19
    assert ask(site, X_Forwarded_For=f"6.6.6.6, {client}{hops}") == client
    assert ask(site, X_Forwarded_For=f"{client}, 10.0.0.8{hops}") == "10.0.0.8"
    hops = hops.replace("10.", "for=10.")
    assert ask(site, Forwarded=f"for=6.6.6.6, for={client}{hops}") == client
    assert ask(site, Forwarded=f"for={client}, for=10.0.0.8{hops}") == "10.0.0.8"
    assert ask(site, Forwarded=f"{'x;' * 10}for={client}") == "10.0.0.1"


@pytest.mark.parametrize(
    ("headers", "base_url"),
    [
        (
            {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "id.example.org"},
            "https://id.example.org",
        ),
        (
            {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "id.example.org:8443"},
            "https://id.example.org:8443",
        ),
        (
            {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "id.example.org:443"},
            "https://id.example.org",
        ),
        (
            {"X_Forwarded_Proto": "http, https", "X_Forwarded_Host": f"{EVIL}, id.example.org"},
            "https://id.example.org",
        ),
        ({"Forwarded": "for=1.1.1.1;host=id.example.org;proto=https"}, "https://id.example.org"),
        (
            {"Forwarded": f'host={EVIL};proto=https, host="id.example.org:81";proto=http'},
            "http://id.example.org:81",
        ),
    ],
)
def test_our_address_is_what_the_nearest_proxy_says(site_with, headers, base_url):
    site = site_with(**ONE)
    site.user()
    ask(site, base_url=base_url, **headers)
    [mail] = site.mails()
    assert link_in(mail).startswith(f"{base_url}/password/reset/")


@pytest.mark.control("F02")
@pytest.mark.parametrize(
    "headers",
    [
        {"X_Forwarded_For": "1.1.1.1", "Forwarded": f"host={EVIL};proto=https"},
        {"Forwarded": f"host={EVIL};proto=https, for=1.1.1.1"},
        {"X_Forwarded_Host": f"{EVIL}/x"},
        {"X_Forwarded_Host": f"user@{EVIL}"},
        {"X_Forwarded_Host": f"{EVIL},"},
        {"X_Forwarded_Host": f"{EVIL}:port"},
        {"X_Forwarded_Proto": "javascript"},
        {"X_Forwarded_Port": "81"},
        {"X_Original_Host": EVIL, "X_Host": EVIL, "X_Forwarded_Server": EVIL},
    ],
)
def test_what_the_nearest_proxy_did_not_write_is_not_believed(site_with, headers):
    site = site_with(**ONE)
    ask(site, **headers)
    assert {row.base_url for row in rows(site)} == {"http://localhost"}


@pytest.mark.control("F02")
@pytest.mark.parametrize("settings", [{}, {"base_url": "https://id.example.org"}])
def test_from_anybody_else_nothing_is_believed(site_with, settings):
    site = site_with(**settings)
    for base in (f"https://{EVIL}", f"http://{EVIL}"):
        body = {"email": "ann@example.com", "reset_url": f"{base}/password/reset"}
        forwarded = {"X-Forwarded-Host": EVIL, "X-Forwarded-Proto": "https"}
        forwarded["Forwarded"] = f"host={EVIL};proto=https"
        site.http.post_json(FORGOT, body, headers=forwarded, status=422)
    assert rows(site) == []
