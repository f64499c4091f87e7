"""Cookies of others in the Cookie header: they neither replace ours nor hide them (C2, M1)."""

import pytest

from authsite.platform.http import cookies
from tests.support.pages import csrf_of, sign_in
from tests.support.site import PASSWORD, WEB
from tests.support.timing import processor_seconds, within

HTTPS = {"base_url": "https://login.example.org"}
KB = 1024
CLIENT = ["v1", "clients", "web"]
SHAPES = {
    "letters": "a" * 16 * KB,
    "open quote": 'a="' + "b" * 16 * KB,
    "semicolons": ";" * 16 * KB,
    "blanks": " " * 16 * KB,
    "pairs": "a=;" * 5 * KB,
    "our name": "device=;" * 2 * KB,
    "our name, different values": ";".join(f"authsite={number}" for number in range(1000)),
    "backslashes": 'a="' + "\\" * 16 * KB,
    "bytes": "\xff" * 16 * KB,
}


def key_of_ann(site):
    """The session cookie of Ann, who signs in."""
    site.user()
    sign_in(site)
    name = "__Host-authsite" if site.cfg.base_url else "authsite"
    value = site.http.cookies[name]
    site.http.reset()
    return name, value


def account(site, cookie, status):
    """The account page of the user whose ``cookie`` is sent."""
    own = next(iter(site.cfg.base_url), "")
    return site.http.get(f"{own}/account", headers={"Cookie": cookie}, status=status)


def expired(answer):
    """The cookies that ``answer`` deletes: name, domain (None: host-only) and path."""
    found = set()
    for line in answer.headers.getall("Set-Cookie"):
        pair, *attributes = line.split("; ")
        known = dict(item.partition("=")[::2] for item in attributes)
        if known.get("Max-Age") == "0":
            found.add((pair.partition("=")[0], known.get("Domain"), known["Path"]))
    return found


@pytest.mark.parametrize("before", [",", "[", "]", '"', "\\", " ", "x", "x,"])
def test_m1_a_cookie_whose_name_contains_ours_signs_nobody_in(site_with, before):
    """M1: a sibling subdomain may set ``x,__Host-authsite``, and WebOb takes it for ours."""
    site = site_with(**HTTPS)
    name, key = key_of_ann(site)
    account(site, f"x{before}{name}={key}", 302)
    account(site, f"{name}={key}; x{before}{name}=of-somebody-else", 200)
    account(site, f"x{before}{name}=of-somebody-else; {name}={key}", 200)


@pytest.mark.parametrize(
    "foreign", ["x=\xe9", "\xff\xfe", "=", "a b=c d", 'q="', "__Host-Authsite=m"]
)
def test_a_foreign_cookie_signs_nobody_out(site_with, foreign):
    site = site_with(**HTTPS)
    name, key = key_of_ann(site)
    answer = account(site, f"{foreign}; {name}={key}; {foreign}", 200)
    assert expired(answer) == set()


def test_of_a_name_given_twice_neither_counts_and_both_are_deleted(site_with):
    site = site_with(**HTTPS, session_cookie_domain="example.org")
    site.user()
    sign_in(site)
    name, key = "__Secure-authsite-guard", site.http.cookies["__Secure-authsite-guard"]
    site.http.reset()
    guard = "https://login.example.org/v1/guard/web"
    site.http.get(guard, headers={"Cookie": f"{name}={key}; {name}={key}"}, status=204)
    twice = {"Cookie": f"{name}=of-another; {name}={key}"}
    answer = site.http.get(guard, headers=twice, status=401)
    domains = (None, "login.example.org", "example.org")
    paths = ("/", "/v1", "/v1/", "/v1/guard", "/v1/guard/", "/v1/guard/web")
    assert expired(answer) == {(name, domain, path) for domain in domains for path in paths}
    assert all("; Secure" in line for line in answer.headers.getall("Set-Cookie"))


def test_a_login_with_a_name_given_twice_leaves_the_browser_signed_in(site_with):
    """The deletion comes before the new cookie; browsers take them in this order."""
    site = site_with(**HTTPS)
    site.user()
    login = "https://login.example.org/login"
    seed = site.http.get(login).headers["Set-Cookie"].partition(";")[0]
    site.http.reset()
    twice = f"{seed}; __Host-authsite=one; __Host-authsite=two"
    token = csrf_of(site.http.get(login, headers={"Cookie": twice}))
    form = {"username": "ann@example.com", "password": PASSWORD, "csrf_token": token}
    answer = site.http.post(login, form, headers={"Cookie": twice}, status=303)
    lines = [line for line in answer.headers.getall("Set-Cookie") if "__Host-authsite=" in line]
    assert "Max-Age=0" in lines[0]
    assert "Max-Age=0" not in lines[-1]
    account(site, lines[-1].partition(";")[0], 200)


def test_two_refresh_cookies_rotate_nothing_and_are_deleted_at_every_path(site_with):
    site = site_with(**WEB)
    site.first_party("web")
    site.user()
    token = site.http.post(
        "/v1/clients/web/login", {"username": "ann@example.com", "password": PASSWORD}
    ).json["refresh_token"]
    site.http.reset()
    headers = {"Cookie": f"refreshToken=x; refreshToken={token}", "Origin": "http://localhost"}
    answer = site.http.post("/v1/clients/web/refresh", headers=headers, status=400)
    assert answer.json["error"] == "invalid_request"
    paths = [f"/{'/'.join(parts)}" for parts in (["v1"], ["v1", "clients"], CLIENT)]
    paths += [*(f"{path}/" for path in paths), "/", "/v1/clients/web/refresh"]
    assert expired(answer) == {("refreshToken", None, path) for path in paths}
    assert site.families()[0].generation == 0


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("path", ["/login", "/account", "/app", "/v1/user", "/nowhere", "/docs"])
def test_c2_sixteen_kilobytes_of_cookies_cost_hardly_any_time(site, path, shape):
    """C2: 16 KB of Cookie header kept a worker busy for 6 seconds."""
    plain = processor_seconds(lambda: site.http.get(path, status="*"))
    site.http.reset()
    headers = {"Cookie": shape}
    most = plain + 0.005
    long = within(lambda: site.http.get(path, headers=headers, status="*"), most, 9)
    assert long < most


@pytest.mark.parametrize("path", ["/" + "a/" * 4000, "/" + "b" * 4000 + "/c", "/a;b/c"])
def test_any_path_can_be_requested_with_a_name_given_twice(site_with, path):
    """The answer to a path of thousands of parts stays small, and no path ends its attribute."""
    site = site_with(base_url="http://a.b.c.d.example.org")
    twice = {"Cookie": "authsite=a; authsite=b; authsite-language=de; authsite-language=fr"}
    answer = site.http.get(path, headers=twice, status="*")
    assert answer.status_int in (400, 404)
    lines = answer.headers.getall("Set-Cookie")
    assert {line.partition("=")[0] for line in lines} == {"authsite-language"}
    assert sum(map(len, lines)) < 100 * KB
    assert all("Path=/a" not in line for line in lines if ";b" in path)


@pytest.mark.parametrize(
    ("sent", "left"),
    [
        ("", ""),
        ("a=1", "a=1"),
        ("authsite=k", ""),
        ("authsite=k; a=1", "a=1"),
        ("a=1; __Host-authsite=k", "a=1"),
        ("a=1;__Host-authsite=k;b=2", "a=1;b=2"),
        ("a=1; __Host-authsite=k; __Secure-authsite-guard=g; b=2; device=d", "a=1; b=2"),
        ("authsite=k; authsite=l; a=1; authsite=m", "a=1"),
        ("authsite2=1; xauthsite=2; Authsite=3; authsite-other=4", None),
        ("__Host-authsite-refresh-my_app=w; refreshToken=r; refreshTokens=1", "refreshTokens=1"),
        ('a="x; __Host-authsite=k; y"', 'a="x; y"'),
        ("__Secure-authsite=k; __Host-device=d; __Secure-device=1", "__Secure-device=1"),
        ("a=authsite=k; authsite", "a=authsite=k; authsite"),
        ("b=\xff\xfe; authsite-csrf=s", "b=\xff\xfe"),
    ],
)
def test_exactly_our_cookies_are_removed(sent, left):
    assert cookies.without_own(sent) == (sent if left is None else left)
