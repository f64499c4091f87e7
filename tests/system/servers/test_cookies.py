"""Cookies of others, of any bytes, in front of a running server (M2)."""

import socket

import pytest

from tests.support import databases
from tests.support.pages import sign_in
from tests.support.servers import serving, write_ini
from tests.support.site import Site

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def signed_in(tmp_path_factory):
    """A server's port and the session cookie of Ann."""
    folder = tmp_path_factory.mktemp("cookies")
    url = databases.migrated(databases.new_url("sqlite", folder, "cookies"))
    site = Site(url)
    site.user()
    sign_in(site)
    try:
        with serving(write_ini(folder, url)) as http:
            yield http.base_url.port, site.http.cookies["authsite"].encode()
    finally:
        site.database.dispose()


def status(port, cookie):
    """The status of the account page for this Cookie header."""
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        head = b"GET /account HTTP/1.1\r\nHost: h\r\nConnection: close\r\nCookie: %s\r\n\r\n"
        connection.sendall(head % cookie)
        return connection.makefile("rb").readline().split()[1]


@pytest.mark.parametrize(
    "foreign", ["x=é".encode(), b"x=\xff\xfe", b"\xc3=\x80", "名=値".encode(), b'x="', b"=", b";;"]
)
def test_m2_a_cookie_that_is_no_ascii_signs_nobody_out(signed_in, foreign):
    """M2: any site of the domain, or a script for statistics, could set one."""
    port, key = signed_in
    assert status(port, b"%s; authsite=%s" % (foreign, key)) == b"200"
    assert status(port, b"authsite=%s; %s" % (key, foreign)) == b"200"
    assert status(port, b"%s" % foreign) == b"302"
