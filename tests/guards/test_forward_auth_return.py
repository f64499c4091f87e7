"""Forward auth: where a login leads back to, which only a trusted proxy says."""

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.pages import submit
from tests.support.site import PASSWORD

WEB = "/v1/guard/web"
AUTH, APP = "https://auth.example.org", "https://app.example.org"
SETTINGS = {
    "base_url": AUTH,
    "trusted_proxies": "10.0.0.1",
    "return_origins": f"{APP} https://other.example.org:8443",
    "session_cookie_domain": "example.org",
}
PROXY, STRANGER = "10.0.0.1", "203.0.113.9"


@pytest.fixture
def site(site_with):
    return site_with(**SETTINGS)


def ask(site, headers, peer=PROXY, path=WEB):
    """The answer with 401 for ``headers`` from ``peer``."""
    return site.http.get(path, headers=headers, extra_environ={"REMOTE_ADDR": peer}, status=401)


def next_of(answer):
    """The page to come back to, in the URL of our own login page; None for none."""
    url = answer.headers["X-Auth-Login-Url"]
    assert url.partition("?")[0] == f"{AUTH}/login"
    query = parse_qs(urlsplit(url).query, strict_parsing="?" in url)
    return query["next"][0] if "next" in query else None


def forwarded(host, uri, proto="https", **more):
    """What Traefik and Caddy say of the original request."""
    return {"X-Forwarded-Proto": proto, "X-Forwarded-Host": host, "X-Forwarded-Uri": uri, **more}


def original(url, **more):
    """What nginx says of the original request."""
    return {"X-Original-URL": url, **more}


PAGES = [
    ("app.example.org", "/", f"{APP}/"),
    ("app.example.org", "/a/b?c=d&e=%2F%20f", f"{APP}/a/b?c=d&e=%2F%20f"),
    ("app.example.org", "/a?next=https://evil.example/", f"{APP}/a?next=https://evil.example/"),
    ("app.example.org:443", "/a", f"{APP}/a"),
    ("APP.Example.Org", "/a", f"{APP}/a"),
    ("other.example.org:8443", "/a", "https://other.example.org:8443/a"),
    ("auth.example.org", "/reports?a=b", "/reports?a=b"),
    ("auth.example.org:443", "/reports", "/reports"),
]


@pytest.mark.parametrize(("host", "uri", "target"), PAGES)
def test_the_page_of_an_allowed_host_is_where_the_login_leads_back_to(site, host, uri, target):
    for headers in (forwarded(host, uri), original(f"https://{host}{uri}")):
        assert next_of(ask(site, headers)) == target
        assert next_of(ask(site, headers, path=f"{WEB}?verified=1")) == target


def test_the_redirect_has_the_same_url(site):
    headers = forwarded("app.example.org", "/a?b=c")
    environ = {"REMOTE_ADDR": PROXY}
    answer = site.http.get(f"{WEB}?redirect=1", headers=headers, extra_environ=environ, status=302)
    assert answer.headers["Location"] == f"{AUTH}/login?next=https%3A//app.example.org/a%3Fb%3Dc"


def test_after_the_login_the_browser_is_led_back(site):
    site.user()
    refused = ask(site, forwarded("auth.example.org", "/reports?a=b"))
    page = refused.headers["X-Auth-Login-Url"].removeprefix(AUTH)
    login = {"username": "ann@example.com", "password": PASSWORD, "next": next_of(refused)}
    answer = submit(site, "/login", page=page, **login)
    assert answer.headers["Location"] == f"{AUTH}/reports?a=b"
    [cookie] = [each for each in site.http.cookiejar if each.name == "__Secure-authsite-guard"]
    assert cookie.domain == ".example.org"
    shared = {"Cookie": f"{cookie.name}={cookie.value}", **forwarded("app.example.org", "/a")}
    site.http.reset()
    environ = {"REMOTE_ADDR": PROXY, "HTTP_HOST": "authsite.internal:6543"}
    assert site.http.get(WEB, headers=shared, extra_environ=environ).status_int == 204


@pytest.mark.control("F02")
@pytest.mark.parametrize(("host", "uri", "target"), PAGES)
def test_whoever_is_no_trusted_proxy_chooses_no_page(site, host, uri, target):
    for headers in (forwarded(host, uri), original(f"https://{host}{uri}")):
        assert next_of(ask(site, headers, STRANGER)) is None


EVIL = [
    forwarded("evil.example", "/"),
    forwarded("app.example.org.evil.example", "/"),
    forwarded("evil.example.org", "/"),
    forwarded("app.example.org", "/", proto="http"),
    forwarded("app.example.org", "/", proto="javascript"),
    forwarded("app.example.org", "/", proto=""),
    forwarded("app.example.org:8443", "/"),
    forwarded("app.example.org@evil.example", "/"),
    forwarded("evil.example#app.example.org", "/"),
    forwarded("", "/"),
    forwarded("app.example.org", ""),
    forwarded("app.example.org", "@evil.example/"),
    forwarded("app.example.org", ".evil.example/"),
    forwarded("app.example.org", ":80@evil.example/"),
    forwarded("auth.example.org", "//evil.example/"),
    forwarded("auth.example.org", "///evil.example/"),
    forwarded("auth.example.org", "/\\evil.example/"),
    forwarded("auth.example.org", "\\\\evil.example/"),
    forwarded("auth.example.org", "/\t/evil.example/"),
    forwarded("auth.example.org", "https://evil.example/"),
    forwarded("auth.example.org", "/a b"),
    forwarded("app.example.org", "//evil.example/"),
    forwarded("app.example.org", "/a\\b"),
    forwarded("app.example.org", "/\xe4"),
    forwarded("app.example.org", "/a\x00b"),
    forwarded("app.example.org", "/a\x7fb"),
    original("https://evil.example/"),
    original("//evil.example/"),
    original("/a"),
    original(""),
    original("https://"),
    original("https:///evil.example/"),
    original("https:/\\evil.example/"),
    original("https://app.example.org@evil.example/"),
    original("https://app.example.org\\@evil.example/"),
    original("https://evil.example\\.app.example.org/"),
    original("https://app.example.org:x/"),
    original("https://app.example.org:443:443/"),
    original("https://app.example.org#@evil.example/"),
    original("https://app.example.org?@evil.example/"),
    original(" https://app.example.org/\\"),
    original("https://app.example.org, https://evil.example/"),
    original("https://evil.example/, https://app.example.org/"),
    original("javascript://app.example.org/%0Aalert(1)"),
    original("https://auth.example.org//evil.example/"),
    original("https://[::1/"),
]


@pytest.mark.control("F02")
@pytest.mark.parametrize("headers", EVIL, ids=str)
def test_an_address_that_is_not_allowed_or_no_address_leaves_the_login_without_a_page(
    site, headers
):
    assert next_of(ask(site, headers)) is None


@pytest.mark.parametrize("end", ["\r\nSet-Cookie: a=b", "\nX: y", "\r"])
@pytest.mark.parametrize("name", ["HTTP_X_FORWARDED_URI", "HTTP_X_ORIGINAL_URL"])
def test_a_line_break_never_reaches_the_answer(site, name, end):
    """A server refuses these headers; the environ is written here, past it."""
    value = ("/a" if name == "HTTP_X_FORWARDED_URI" else f"{APP}/a") + end
    environ = {
        "REMOTE_ADDR": PROXY,
        "HTTP_X_FORWARDED_PROTO": "https",
        "HTTP_X_FORWARDED_HOST": "app.example.org",
        name: value,
    }
    answer = site.http.get(WEB, extra_environ=environ, status=401)
    assert next_of(answer) is None
    assert "Set-Cookie" not in answer.headers


def test_a_header_that_is_sent_twice_stays_on_the_allowed_host(site):
    """Servers join both with a comma: of proto and host the proxy's own, the last one, counts."""
    headers = forwarded("evil.example, app.example.org", "/a,/b", proto="http, https")
    assert next_of(ask(site, headers)) == f"{APP}/a,/b"
    headers = forwarded("app.example.org, evil.example", "/a")
    assert next_of(ask(site, headers)) is None
    headers = original(f"{APP}/a,https://evil.example/")
    assert next_of(ask(site, headers)) == f"{APP}/a,https://evil.example/"


def test_of_two_different_pages_neither_counts(site):
    """Traefik passes on what a client says as ``X-Original-URL``, and nginx the other form."""
    for uri, target in (("/a", f"{APP}/a"), ("/b", None)):
        headers = forwarded("app.example.org", uri) | original(f"{APP}/a")
        assert next_of(ask(site, headers)) == target
    headers = forwarded("app.example.org", "/a") | original("https://evil.example/")
    assert next_of(ask(site, headers)) is None


@pytest.mark.parametrize("length", [2048, 2049, 8000, 15_000])
def test_a_very_long_address_is_left_out(site, length):
    start = f"{APP}/"
    url = start + "a" * (length - len(start))
    for headers in (original(url), forwarded("app.example.org", url.removeprefix(APP))):
        assert next_of(ask(site, headers)) == (url if length <= 2048 else None)


@pytest.mark.parametrize("name", ["X-Forwarded-Method", "X-Original-Method"])
@pytest.mark.parametrize("method", ["POST", "DELETE", "post", "PURGE", "x y"])
def test_a_form_leads_back_to_the_page_that_has_it_and_says_that_nothing_was_saved(
    site, name, method
):
    page = forwarded("app.example.org", "/orders/delete") | {name: method}
    for referer, target in (
        (f"{APP}/orders?page=2", f"{APP}/orders?page=2"),
        (f"{AUTH}/account", None),
        ("https://other.example.org:8443/", None),
        ("https://evil.example/", None),
        (f"{APP}//evil.example/", None),
        ("", None),
    ):
        answer = ask(site, page | {"Referer": referer})
        assert next_of(answer) == target
        assert "unsaved=1" in answer.headers["X-Auth-Login-Url"]
    answer = ask(site, page | {"Referer": f"{APP}/orders"}, STRANGER)
    assert answer.headers["X-Auth-Login-Url"] == f"{AUTH}/login"


@pytest.mark.parametrize("method", ["GET", "HEAD", "get", ""])
def test_a_page_that_was_read_leads_back_to_itself(site, method):
    headers = forwarded("app.example.org", "/a", **{"X-Forwarded-Method": method})
    answer = ask(site, headers | {"Referer": f"{APP}/b"})
    assert next_of(answer) == f"{APP}/a"
    assert "unsaved" not in answer.headers["X-Auth-Login-Url"]


@pytest.mark.control("F02")
@pytest.mark.parametrize("host", ["app.example.org", "evil.example", "authsite.internal:6543"])
def test_the_login_page_is_at_our_own_address_whatever_host_is_named(site, host):
    for headers in (forwarded(host, "/a"), {"Host": host}, forwarded(host, "/a", Host=host)):
        for peer in (PROXY, STRANGER):
            next_of(ask(site, headers, peer))  # which looks at the address


def test_with_several_addresses_the_one_of_the_host_at_hand_is_ours(site_with):
    site = site_with(**{**SETTINGS, "base_url": f"{AUTH} https://login.example.org"})
    for host, own in (
        ("app.example.org", AUTH),
        ("auth.example.org", AUTH),
        ("login.example.org", "https://login.example.org"),
    ):
        url = ask(site, forwarded(host, "/a")).headers["X-Auth-Login-Url"]
        target = "https%3A//app.example.org/a" if host == "app.example.org" else "/a"
        assert url == f"{own}/login?next={target}"


def test_below_a_path_the_login_page_is_there_and_pages_of_the_same_host_are_ours(site_with):
    site = site_with(**{**SETTINGS, "base_url": f"{AUTH}/auth"})
    for path in (WEB, f"/auth{WEB}"):
        answer = ask(site, forwarded("auth.example.org", "/reports"), path=path)
        assert answer.headers["X-Auth-Login-Url"] == f"{AUTH}/auth/login?next=/reports"


def test_a_login_page_of_another_application_gets_the_whole_address(site_with):
    site = site_with(**SETTINGS, login_page_url="https://sso.example.org/in?a=b")
    url = ask(site, forwarded("auth.example.org", "/reports")).headers["X-Auth-Login-Url"]
    assert url == "https://sso.example.org/in?a=b&next=https%3A//auth.example.org/reports"


def test_without_a_base_url_our_address_is_the_one_that_the_proxy_names(site_with):
    site = site_with(trusted_proxies=PROXY)
    url = ask(site, forwarded("example.org", "/a")).headers["X-Auth-Login-Url"]
    assert url == "https://example.org/login?next=/a"
    url = ask(site, forwarded("example.org", "/a"), STRANGER).headers["X-Auth-Login-Url"]
    assert url == "http://localhost/login"


@pytest.mark.parametrize("query", ["", "?redirect=1"])
def test_a_guarded_login_page_is_a_clear_error_instead_of_redirects_without_end(site, query):
    environ = {"REMOTE_ADDR": PROXY}
    for uri in ("/login", "/login?next=/a"):
        headers = forwarded("auth.example.org", uri)
        answer = site.http.get(WEB + query, headers=headers, extra_environ=environ, status=403)
        assert [each["code"] for each in answer.json["errors"]] == ["login_page_guarded"]
        assert "base-url" in answer.json["message"]


def test_an_ambiguous_cookie_does_not_open_a_page(site, site_with):
    site.user()
    cookies = {"Cookie": "__Secure-authsite-guard=a; __Secure-authsite-guard=b"}
    answer = ask(site, cookies)
    expired = answer.headers.getall("Set-Cookie")
    assert expired
    assert all("Max-Age=0" in each for each in expired)
