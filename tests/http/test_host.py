"""The Host header: one host, well written, or a 400 with one sentence (L3, L15)."""

import pytest
from webtest import TestApp

BAD = [
    *("[::1", "::1", "[:::]", "[1.2.3.4]", "[::1]x", "a b", "a,b", "h, h", "evil.example/x?y="),
    *("user@evil.example", "h:", "h:port", "h:65536", "h:123456", "h#", "h?", "h\\"),
    *("\xe9", "\x00", "a" * 256, "a" * 5000, "[" + ":" * 5000, ""),
]
GOOD = [
    *("localhost", "localhost:80", "auth.example.org", "auth.example.org:8443", "a_b.example"),
    *("127.0.0.1:6543", "[::1]", "[2001:db8::1]:8443", "a" * 255),
]
HTTP_1_1 = {"SERVER_PROTOCOL": "HTTP/1.1"}
PATHS = ["/", "/login", "/v1/user", "/v1/clients/web/login", "/v1/oauth/token", "/nowhere"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", BAD)
def test_l3_a_host_that_is_none_is_a_bad_request(site, host, path):
    """L3: ``[::1`` was a 500, and so was a long one where it was stored."""
    environ = {**HTTP_1_1, "HTTP_HOST": host}
    method = site.http.post if "oauth" in path or "clients" in path else site.http.get
    answer = method(path, extra_environ=environ, status=400)
    assert answer.json["message"].startswith("Send one Host header")
    assert answer.headers["X-Request-Id"]


@pytest.mark.parametrize("host", GOOD)
def test_a_host_is_a_name_or_an_address_and_a_port(site, host):
    environ = {**HTTP_1_1, "HTTP_HOST": host}
    assert site.http.get("/login", extra_environ=environ).status_int == 200


@pytest.mark.parametrize(("protocol", "status"), [("HTTP/1.1", 400), ("HTTP/1.0", 200)])
def test_l15_only_http_1_0_may_leave_it_out(site, protocol, status):
    """L15: RFC 9112, section 3.2."""

    def without_host(environ, start_response):
        del environ["HTTP_HOST"]
        return site.app({**environ, "SERVER_PROTOCOL": protocol}, start_response)

    TestApp(without_host).get("/login", status=status)


def test_l3_a_long_host_is_refused_before_anything_is_stored(site):
    """L3: it was a 500 on PostgreSQL, where a mail keeps the address that its links begin with."""
    site.user()
    body = {"email": "ann@example.com", "reset_url": "http://localhost/password/reset"}
    for host in ("a" * 5000, "evil.example/x?y="):
        environ = {"HTTP_HOST": host}
        site.http.post_json("/v1/password/forgot", body, extra_environ=environ, status=400)
    assert site.mails() == []


@pytest.mark.parametrize("host", ["[:::]", "[1.2.3.4]", "a" * 300, "h:99999", "[::1"])
def test_a_proxy_that_forwards_a_bad_host_is_not_believed(site_with, host):
    site = site_with(trusted_proxies="10.0.0.0/8")
    headers = {"X-Forwarded-Host": host, "X-Forwarded-For": "192.0.2.7"}
    environ = {"REMOTE_ADDR": "10.0.0.1"}
    site.http.get("/account", headers=headers, extra_environ=environ, status=302)


def test_a_host_application_answers_as_it_wants_and_its_guards_never_fail(host_with):
    def build(config):
        config.add_route("open", "/open")
        config.add_view(lambda request: {"ok": True}, route_name="open", renderer="json")
        config.add_route("mine", "/mine", guard="web")
        config.add_view(lambda request: {"ok": True}, route_name="mine", renderer="json")

    included = host_with(build)
    environ = {**HTTP_1_1, "HTTP_HOST": "[::1"}
    included.http.get("/open", extra_environ=environ, status=200)
    included.http.get("/mine", extra_environ=environ, status=302)
    answer = included.http.get("/v1/user", extra_environ=environ, status=400)
    assert "Send one Host header" in answer.text
