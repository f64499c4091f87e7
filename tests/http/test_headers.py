"""What browsers are told, on every kind of answer, error pages too."""

import re

import pytest

from tests.support.pages import sign_in
from tests.support.site import bearer

EVERYWHERE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
RESPONSES = [
    *(
        ("GET", path, 200)
        for path in ("/?done=deleted", "/login", "/register", "/app", "/docs", "/logout")
    ),
    *(("GET", path, 200) for path in ("/password/forgot", "/v1/openapi.json")),
    *(("GET", path, 404) for path in ("/nope", "/v1/nope", "/authsite/static/x/nope.css")),
    ("GET", "/authsite/static/x/authsite.css", 200),
    ("GET", "/", 302),
    ("GET", "/account", 302),
    ("GET", "/%ff", 400),
    ("GET", "/v1/user", 401),
    ("PUT", "/login", 405),
    ("POST", "/login", 403),
    ("POST", "/v1/user", 405),
    ("POST", "/v1/oauth/token", 400),
]


@pytest.mark.control("S09")
@pytest.mark.parametrize(("method", "path", "status"), RESPONSES)
def test_every_answer_carries_the_headers(site, method, path, status):
    answer = site.http.request(path, method=method, status=status)
    for name, value in EVERYWHERE.items():
        assert answer.headers.getall(name) == [value]
    assert "camera=()" in answer.headers["Permissions-Policy"]
    assert "Cross-Origin-Resource-Policy" in answer.headers
    assert re.fullmatch(r"[0-9a-f]{24}", answer.headers["X-Request-Id"])
    assert "Strict-Transport-Security" not in answer.headers


@pytest.mark.control("S08")
@pytest.mark.parametrize(("method", "path", "status"), RESPONSES)
def test_the_content_policy_allows_nothing_inline_and_nothing_foreign(site, method, path, status):
    answer = site.http.request(path, method=method, status=status)
    [policy] = answer.headers.getall("Content-Security-Policy")
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "*" not in policy


@pytest.mark.control("S08")
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/login",
        "/register",
        "/app",
        "/docs",
        "/password/forgot",
        "/password/reset",
        "/email/verify",
        "/account",
        "/nope",
    ],
)
def test_no_page_has_inline_script_style_or_handler_or_a_foreign_address(site, path):
    site.user()
    sign_in(site)
    text = site.http.get(path, status="*", expect_errors=True).text
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text)
    for address in re.findall(r"""(?:src|href|action)=["']([^"']+)""", text):
        assert address.startswith(("/", "#", "?", "mailto:", "http://localhost")), address


HOST = "max-age=31536000"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, HOST),
        ({"hsts": "host"}, HOST),
        ({"hsts": "subdomains"}, f"{HOST}; includeSubDomains"),
        ({"hsts": "off"}, None),
    ],
)
def test_browsers_remember_https_for_the_hosts_of_hsts(site_with, settings, expected):
    """House 0.1-4: HSTS can be turned off, and binds subdomains only if asked to."""
    site = site_with(base_url="https://id.example.org", **settings)
    for path in ("/login", "/v1/user", "/nope"):
        answer = site.http.get(path, status="*")
        assert answer.headers.get("Strict-Transport-Security") == expected


@pytest.mark.parametrize(("settings", "expected"), [({}, None), ({"hsts": "host"}, HOST)])
def test_included_hsts_is_the_hosts_decision(host_with, settings, expected):
    """House 0.1-4: one visit to our login page must not bind the domain of the host."""
    site = host_with(lambda config: None, base_url="https://id.example.org", **settings)
    assert site.http.get("/login").headers.get("Strict-Transport-Security") == expected


@pytest.mark.control("T23")
def test_what_holds_a_secret_is_not_stored(site):
    keys, _ = site.client(), site.user()
    tokens = site.login(keys)
    for answer in (site.me(tokens["access_token"]), sign_in(site), site.http.get("/account")):
        assert answer.headers["Cache-Control"] == "no-store"
    assert site.http.get("/v1/user", headers=bearer("x"), status=401).headers["Pragma"]


@pytest.mark.control("S11")
@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND", "BREW"])
def test_odd_methods_are_405_and_there_is_no_override(site, method):
    answer = site.http.request("/v1/user", method=method, status=405)
    assert answer.headers["Allow"] == "DELETE, GET, HEAD, PATCH"
    site.http.get("/v1/register", headers={"X-HTTP-Method-Override": "POST"}, status=405)
    site.http.post("/v1/logout", {"_method": "DELETE"}, status=405)


@pytest.mark.control("S08")
def test_a_logo_from_elsewhere_is_the_only_foreign_thing_that_pages_may_load(site_with):
    site = site_with(site_logo="https://cdn.example.org/logo.svg;v=2")
    page = site.http.get("/login")
    assert 'src="https://cdn.example.org/logo.svg;v=2"' in page.text
    [policy] = page.headers.getall("Content-Security-Policy")
    assert "img-src 'self' https://cdn.example.org data:;" in policy
    assert policy.count("http") == 1
    site = site_with(site_logo="/static/logo.svg")
    assert "http" not in site.http.get("/login").headers["Content-Security-Policy"]
