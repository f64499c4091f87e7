"""Requests that authsite sends: where they go, and how they end at a server that is at fault."""

import gzip
import socket
import threading
import time

import pytest
import transaction

from authsite.platform.db.transaction import RequestSession
from authsite.platform.http import outbound
from tests.support.certificates import Authority
from tests.support.outbound import PUBLIC, own_resolver, send, unreachable
from tests.support.tiny_server import raw_server, tiny_server, tls_server

OK = "HTTP/1.1 200 OK\r\n"


@pytest.fixture
def authority(tmp_path, monkeypatch):
    """A certificate authority that this process trusts."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    return authority


@pytest.fixture
def resolves(monkeypatch):
    """Decides what names resolve to; has the names that were asked for."""
    return own_resolver(monkeypatch)


def test_a_request_has_its_headers_and_body_and_names_no_library(site):
    with tiny_server(lambda _: (201, {"X-One": "1"}, b"answer")) as server:
        answer = send(
            site,
            f"{server.url}/token?a=b",
            method="POST",
            headers={"Accept": "text/plain"},
            body=b"c=d",
        )
    assert (answer.status, answer.headers["x-one"], answer.body) == (201, "1", b"answer")
    [request] = server.requests
    assert (request.path, request.form) == ("/token?a=b", {"c": "d"})
    assert request.headers["Host"] == f"127.0.0.1:{server.port}"
    assert request.headers["Accept"] == "text/plain"
    assert request.headers["User-Agent"] == "authsite"


def test_a_redirect_is_an_answer_and_is_not_followed(site):
    with tiny_server(lambda _: (302, {"Location": "/elsewhere"}, b"")) as server:
        assert send(site, server.url).status == 302
        assert len(server.requests) == 1


def test_a_proxy_in_the_environment_gets_no_request(site, monkeypatch):
    with tiny_server(lambda _: (200, {}, b"")) as server, tiny_server(None) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert send(site, server.url).status == 200
        assert proxy.connections == 0


def test_a_body_may_be_as_long_as_the_limit_and_no_longer(site):
    with tiny_server(lambda request: (200, {}, b"x" * int(request.path[1:]))) as server:
        assert len(send(site, f"{server.url}/1000").body) == 1000
        assert "more than 1000 bytes" in unreachable(site, f"{server.url}/1001")
        assert "more than 1000 bytes" in unreachable(site, f"{server.url}/1000000")


def test_a_compressed_body_is_refused_unread(site):
    bomb = gzip.compress(b"0" * 10_000_000)
    with tiny_server(lambda _: (200, {"Content-Encoding": "gzip"}, bomb)) as server:
        assert "compressed" in unreachable(site, server.url, limit=100_000)
        assert server.requests[0].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    "begins",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nX-A: ",
        b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
    ],
    ids=["status line", "headers", "body", "body without a length"],
)
def test_a_server_that_trickles_is_given_up_at_the_deadline(site, begins):
    def trickle(connection):
        connection.sendall(begins)
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)

    with raw_server(trickle) as server:
        began = time.monotonic()
        assert "in time" in unreachable(site, server.url, deadline=0.4)
        assert 0.35 < time.monotonic() - began < 2


def test_a_server_that_is_silent_is_given_up_at_the_deadline(site):
    ended = threading.Event()
    with raw_server(lambda _: ended.wait(30)) as server:
        began = time.monotonic()
        assert "in time" in unreachable(site, server.url, deadline=0.4)
        assert time.monotonic() - began >= 0.4  # and not at the limit of connecting
        assert "in time" in unreachable(site, f"https://127.0.0.1:{server.port}", deadline=0.4)
        assert time.monotonic() - began < 4
        ended.set()


def test_a_name_that_is_resolved_too_late_is_given_up_at_the_deadline(site, monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **_options: ended.wait(30) and [])
    began = time.monotonic()
    assert "was not resolved in time" in unreachable(site, "https://idp.example", deadline=0.2)
    assert time.monotonic() - began < 2
    ended.set()


def test_what_is_not_an_answer_is_unreachable(site):
    with raw_server(lambda connection: connection.sendall(b"220 mail.example ESMTP\r\n")) as server:
        assert "no valid answer" in unreachable(site, server.url)
    assert "does not accept" in unreachable(site, server.url)
    with raw_server(
        lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
    ) as server:
        assert "no valid answer" in unreachable(site, server.url)


def test_the_connection_goes_to_the_resolved_address_with_the_name_in_tls_and_host(
    site, authority, resolves
):
    resolves["idp.example"] = ["127.0.0.1"]
    with tls_server(authority.sign("idp.example")) as server:
        assert send(site, f"https://idp.example:{server.port}/jwks").status == 200
        assert server.names == ["idp.example"]
        assert server.requests[0].headers["Host"] == f"idp.example:{server.port}"
    assert resolves["asked"].count("idp.example") == 1


def test_the_certificate_of_another_name_is_refused(site, authority, resolves):
    resolves["idp.example"] = ["127.0.0.1"]
    with tls_server(authority.sign("other.example")) as server:
        reason = unreachable(site, f"https://idp.example:{server.port}")
        assert "certificate of idp.example" in reason
        assert "Hostname mismatch" in reason
        assert server.requests == []


def test_the_certificate_of_an_unknown_authority_is_refused(site, tmp_path, resolves):
    resolves["idp.example"] = ["127.0.0.1"]
    with tls_server(Authority(tmp_path).sign("idp.example")) as server:
        assert "certificate of idp.example" in unreachable(
            site, f"https://idp.example:{server.port}"
        )
        assert server.requests == []


def test_the_next_address_is_tried_where_one_accepts_no_connection(site, resolves):
    with tiny_server(lambda _: (200, {}, b"")) as server:
        resolves["localhost"] = ["127.0.0.2", "127.0.0.1"]
        assert send(site, f"http://localhost:{server.port}").status == 200


def test_http_is_for_loopback_addresses_alone(site, resolves):
    resolves["idp.example"] = [PUBLIC]
    assert "must be https" in unreachable(site, "http://idp.example/jwks")


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.1.2.3"],
        ["169.254.169.254"],
        ["100.64.0.1"],
        ["192.0.0.192"],
        ["192.88.99.1"],
        ["168.63.129.16"],
        ["0.0.0.0"],  # noqa: S104 - refused, not bound
        ["224.0.0.1"],
        ["::1"],
        ["fe80::1"],
        ["fd00::1"],
        ["fec0::1"],
        ["ff0e::1"],
        ["::ffff:127.0.0.1"],
        ["::ffff:10.0.0.1"],
        ["::127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::1"],
        ["2001:0:53aa:64c:0:0:80ff:fffe"],
        ["3fff::1"],
        [PUBLIC, "10.1.2.3"],
        ["2606:2800:220:1::1", "::1"],
    ],
    ids=",".join,
)
def test_a_stranger_cannot_have_an_address_asked_that_is_not_public(site, resolves, addresses):
    resolves["rp.example"] = addresses
    assert "not public" in unreachable(
        site, "https://rp.example/metadata", slot=outbound.UNTRUSTED, public_only=True
    )


def test_a_stranger_may_name_public_addresses_by_https_alone(site, resolves):
    resolves["rp.example"] = [PUBLIC]
    reason = unreachable(site, "http://rp.example/", slot=outbound.UNTRUSTED, public_only=True)
    assert "https://" in reason
    for literal in ("127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1"):
        resolves[literal] = ["127.0.0.1"]  # what the C library makes of such a number
        assert "not public" in unreachable(
            site, f"https://{literal}/", slot=outbound.UNTRUSTED, public_only=True
        )


@pytest.mark.parametrize(
    "url",
    [
        "",
        "idp.example",
        "/path",
        "ftp://idp.example",
        "file:///etc/passwd",
        "https://",
        "https://a@b/",
    ],
)
def test_what_is_not_an_http_url_without_user_information_is_refused(site, url):
    assert "URL" in unreachable(site, url)


def test_a_request_within_a_transaction_is_refused(site):
    manager = transaction.TransactionManager(explicit=True)
    manager.begin()
    with tiny_server(lambda _: (200, {}, b"")) as server:
        database = site.database.transactional
        session = RequestSession(database, info={"tm": manager})
        session.connection()
        with pytest.raises(RuntimeError, match="commit first"):
            send(site, server.url)
        manager.commit()
        assert send(site, server.url).status == 200
