"""`password-breach-check`: breached passwords are refused, and a failing service refuses none."""

import hashlib
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import pytest
from structlog.testing import capture_logs

from authsite.platform.passwords import breaches
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, bearer
from tests.support.tiny_server import raw_server, tiny_server

BREACHED, FRESH = "four quiet cats dance", "purple wolf 77 tea"
MESSAGE = "This password has appeared in a data breach. Choose another."


def digest(password):
    return hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()


def listed(*passwords, count=3):
    """The body of a range response that has these passwords, between other hashes and padding."""
    lines = [
        "0" * 35 + ":9",
        *(f"{digest(each)[5:]}:{count}" for each in passwords),
        "F" * 35 + ":0",
    ]
    return "\r\n".join(lines).encode()


@contextmanager
def service(body=None, status=200, **headers):
    """A range service, which knows `BREACHED`; its URL is at ``server.url``."""
    body = listed(BREACHED) if body is None else body
    with tiny_server(lambda request: (status, headers, body)) as server:
        yield server


def is_breached(server, password=BREACHED):
    return breaches.is_breached(f"{server.url}/range", password)


@pytest.fixture
def asked(site_with):
    """``(site, server)``: a site that asks a service."""
    with service() as server:
        yield site_with(password_breach_check=f"{server.url}/range"), server


@pytest.mark.control("P12")
def test_only_five_characters_of_the_hash_leave(asked):
    site, server = asked
    register(site, BREACHED)
    [request] = server.requests
    assert request.path == f"/range/{digest(BREACHED)[:5]}"
    assert request.headers["Add-Padding"] == "true"
    assert digest(BREACHED)[5:] not in str(request)
    assert BREACHED not in str(request)


def register(site, password):
    body = {"email": "bo@example.com", "password": password}
    return site.http.post_json("/v1/register", body, status="*")


def change(site, password):
    site.user()
    token = site.login(site.client())["access_token"]
    body = {"current_password": PASSWORD, "password": password}
    return site.http.put_json("/v1/user/password", body, headers=bearer(token), status="*")


def reset(site, password):
    user = site.user()
    body = {"email": user.email, "token": site.reset_token(user), "password": password}
    return site.http.post_json("/v1/password/reset", body, status="*")


@pytest.mark.control("P12")
@pytest.mark.parametrize("path", [register, change, reset])
def test_every_path_that_sets_a_password_refuses_a_breached_one(asked, path):
    site, _server = asked
    answer = path(site, BREACHED)
    assert answer.status_int == 422
    assert answer.json["errors"] == [
        {"code": "weak_password", "field": "password", "message": MESSAGE}
    ]


@pytest.mark.parametrize("path", [register, change, reset])
def test_every_path_takes_a_password_that_the_service_does_not_know(asked, path):
    site, server = asked
    assert path(site, FRESH).status_int in (200, 201)
    assert digest(FRESH)[:5] in server.requests[-1].path


@pytest.mark.parametrize("path", [register, change, reset])
def test_no_transaction_is_open_while_the_service_is_asked(site_with, path):
    in_use = []

    def respond(_request):
        in_use.append(site.database.transactional.pool.checkedout())
        return 200, {}, listed()

    with tiny_server(respond) as server:
        site = site_with(password_breach_check=f"{server.url}/range")
        path(site, FRESH)
    assert set(in_use) == {0}


def test_no_login_no_check_while_typing_and_no_weak_password_is_asked_about(asked):
    site, server = asked
    site.user()
    server.requests.clear()
    assert submit(site, "/register/check", page="/register", password=BREACHED).json["level"] == 3
    sign_in(site)
    register(site, "password1")
    assert server.requests == []


def test_the_page_shows_the_message(asked):
    site, _server = asked
    answer = submit(site, "/register", email="bo@example.com", password=BREACHED)
    assert answer.status_int == 422
    assert MESSAGE in answer.text


def test_padding_counts_as_unknown_and_the_composed_form_is_asked_about():
    with service(listed(BREACHED, count=0)) as server:
        assert not is_breached(server)
    with service(listed("trömbone glacier")) as server:
        assert is_breached(server, "tro\u0308mbone glacier")


@pytest.mark.control("P12")
@pytest.mark.parametrize(
    ("body", "status", "cause"),
    [
        (b"<html>Sign in to the wireless network</html>", 200, "not a list of hashes"),
        (b"\xff\xfe\x00", 200, "not a list of hashes"),
        (b"", 503, "status 503"),
        (listed(BREACHED), 429, "status 429"),
        (listed(BREACHED) + b"\r\n" + b"A" * 300_000, 200, "too long"),
        (listed(BREACHED)[:-10], 200, "not a list of hashes"),
    ],
    ids=["page", "bytes", "error", "limited", "huge", "cut off"],
)
def test_a_broken_response_refuses_nobody_and_is_logged(body, status, cause):
    with capture_logs() as logs, service(body, status) as server:
        assert not is_breached(server)
    [line] = logs
    assert line["event"] == "password_breach_check_failed"
    assert cause in line["cause"]


@pytest.mark.control("P12")
def test_a_redirect_is_not_followed():
    with (
        service() as elsewhere,
        service(b"", 302, Location=f"{elsewhere.url}/range/00000") as server,
    ):
        assert not is_breached(server)
        assert elsewhere.requests == []


def _silent(sock):
    sock.recv(10_000)
    sock.recv(1)


def _byte_by_byte(sock):
    """Never silent for a second, and never done: first in the head, then in the body."""
    sock.recv(10_000)
    with suppress(OSError):
        for byte in b"HTTP/1.0 200 OK\r\n\r\n" + b"0" * 200:
            sock.sendall(bytes([byte]))
            time.sleep(0.2)


def _endless_head(sock):
    sock.recv(10_000)
    with suppress(OSError):
        sock.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            sock.sendall(b"X-More: 1\r\n")
            time.sleep(0.2)


@pytest.mark.control("P12")
@pytest.mark.parametrize("talk", [_silent, _byte_by_byte, _endless_head])
def test_a_slow_service_costs_one_second_in_all_and_no_thread(talk):
    with raw_server(talk) as server, capture_logs() as logs:
        began = time.monotonic()
        assert not is_breached(server)
        assert 0.2 < time.monotonic() - began < 5
        for thread in threading.enumerate():
            if thread.name == "breach-check":
                thread.join(3)
                assert not thread.is_alive()
    assert len(logs) == 1


def test_a_service_that_is_away_refuses_nobody_and_is_logged_once_a_minute(site_with):
    with service() as server:
        url = server.url
    site = site_with(password_breach_check=url)
    with capture_logs() as logs:
        assert register(site, BREACHED).status_int == 201
        assert not breaches.is_breached(url, BREACHED)
    failures = [line for line in logs if line["event"] == "password_breach_check_failed"]
    assert [line["cause"] for line in failures] == ["ConnectionRefusedError"]
    assert BREACHED not in str(logs)


def test_without_the_setting_not_even_the_http_client_is_loaded(site):
    assert site.cfg.password_breach_check is None
    script = (
        "import sys, authsite.platform.passwords.policy\n"
        "sys.exit('authsite.platform.passwords.breaches' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
