"""The examples for Traefik and Caddy: what they ask, and what reaches the application."""

import re

import pytest

from tests.support.forwarding import EXAMPLES, ORIGIN, Caddy, Traefik
from tests.support.pages import sign_in
from tests.support.site import bearer

NAMES = (
    *("X-Auth-User", "X-Auth-Email", "X-Auth-Email-Verified"),
    *("X-Auth-Client", "X-Auth-Scope", "X-Auth-Groups", "X-Auth-Acr", "X-Auth-Amr", "X-Auth-Time"),
)
SPOOFED = dict.fromkeys(NAMES, "root")


def settings():
    """The settings of the example that count here."""
    text = (EXAMPLES / "forward-auth" / "authsite.ini").read_text()
    found = dict(re.findall(r"^authsite\.([\w-]+) = (.*)$", text, re.MULTILINE))
    return {key: found[key] for key in ("base-url", "trusted-proxies")}


@pytest.fixture
def site(site_with):
    return site_with(**settings())


@pytest.fixture(params=[Traefik, Caddy])
def proxy(request, site):
    return request.param(site)


@pytest.fixture
def session(site):
    """The Cookie header of Ann, who is signed in."""
    ann = site.user(confirmed=True)
    sign_in(site)
    header = {"Cookie": "; ".join(f"{each.name}={each.value}" for each in site.http.cookiejar)}
    site.http.reset()
    return ann, header


@pytest.mark.parametrize("path", ["/", "/orders?page=2&scope=a", "/orders?redirect=1&verified=0"])
def test_a_page_leads_to_the_login_with_the_way_back(proxy, path):
    answer = proxy.ask("GET", path)
    assert answer.status_int == 302
    assert answer.headers["Location"].startswith(f"{ORIGIN}/auth/login?next=/")
    wanted = path.replace("?", "%3F").replace("=", "%3D").replace("&", "%26")
    assert answer.headers["Location"].endswith(f"next={wanted}")
    assert "Set-Cookie" not in answer.headers


def test_a_form_without_a_session_does_not_lead_back_to_where_it_is_sent(proxy):
    answer = proxy.ask("POST", "/orders/new", {"Referer": f"{ORIGIN}/orders"})
    assert answer.headers["Location"] == f"{ORIGIN}/auth/login?next=/orders&unsaved=1"


def test_a_session_opens_the_pages_and_tells_who_it_is(proxy, session):
    ann, cookie = session
    for method in ("GET", "POST", "DELETE"):
        reached = proxy.ask(method, "/orders?page=2", cookie)
        assert reached["x-auth-user"] == str(ann.id)
        assert reached["x-auth-email"] == "ann@example.com"


def test_a_token_opens_the_api_whatever_the_query_and_tells_whose_it_is(proxy, site):
    site.user(confirmed=True)
    keys = site.client(scope="a b", default_scope="a b")
    headers = bearer(site.login(keys)["access_token"])
    for path in ("/api/reports", "/api/reports?page=2", "/api/reports?scope=x&verified=1"):
        reached = proxy.ask("GET", path, headers)
        assert reached["x-auth-client"] == keys.client_id
        assert reached["x-auth-scope"] == "a b"
    for refused in ({}, bearer("at_x"), SPOOFED):
        answer = proxy.ask("GET", "/api/reports", refused)
        assert answer.status_int == 401
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_what_a_client_says_of_itself_does_not_reach_the_application(proxy, site, session):
    reached = proxy.ask("GET", "/orders", {**session[1], **SPOOFED})
    assert "root" not in reached.values()
    keys = site.client("personal")
    token = site.token(keys, grant_type="client_credentials").json["access_token"]
    reached = proxy.ask("GET", "/api/reports", {**bearer(token), **SPOOFED})
    told = {name: value for name, value in reached.items() if name.startswith("x-auth-")}
    assert told == {"x-auth-client": keys.client_id}


def test_who_has_to_confirm_is_led_to_the_page_that_sends_the_link(proxy, site):
    site.user()
    sign_in(site)
    cookie = {"Cookie": "; ".join(f"{each.name}={each.value}" for each in site.http.cookiejar)}
    answer = proxy.ask("GET", "/orders", cookie)
    assert answer.status_int == 302
    assert answer.headers["Location"] == f"{ORIGIN}/auth/email/link?next=%2Forders"
    answer = proxy.ask("GET", "/orders", {**cookie, "Accept": "application/json"})
    assert answer.status_int == 403
    token = site.login(site.client())["access_token"]
    assert proxy.ask("GET", "/api/reports", bearer(token)).status_int == 403


def test_another_page_in_the_header_of_nginx_does_not_count(proxy):
    for url in ("https://evil.example/", f"{ORIGIN}/other"):
        answer = proxy.ask("GET", "/orders", {"X-Original-URL": url, "X-Original-Method": "POST"})
        assert answer.headers["Location"] == f"{ORIGIN}/auth/login?next=/orders"


def test_both_copy_all_headers_that_authsite_sends(site):
    for proxy, more in ((Traefik(site), ["Cookie"]), (Caddy(site), [])):
        for path in ("/orders", "/api/reports"):
            assert list(proxy.way(path, {})[2]) == [*NAMES, *more]


def test_behind_traefik_the_application_gets_all_cookies_but_ours(site, session):
    """`authResponseHeaders` replaces the header of the client. Caddy removes them by a pattern."""
    proxy, (_, cookie) = Traefik(site), session
    reached = proxy.ask("GET", "/orders", {"Cookie": f"theme=dark; {cookie['Cookie']}; a=b"})
    assert reached["cookie"] == "theme=dark; a=b"
    assert not proxy.ask("GET", "/orders", cookie).get("cookie")


def test_the_login_pages_have_no_guard(site):
    traefik, caddy = Traefik(site), Caddy(site)
    assert traefik.way("/auth/login", {}) == (set(), None, ())
    [auth] = [block for matcher, block in caddy.blocks if matcher == "/auth/*"]
    assert "forward_auth" not in auth
    assert caddy.text.index("request_header -X-Auth-*") < caddy.text.index("handle")


def test_caddy_removes_names_with_an_underscore(site):
    removed, _target, _copied = Caddy(site).way("/orders", {"x_auth_user": "root", "accept": ""})
    assert removed == {"x_auth_user"}


def configuration(name, first):
    """The file of the example for nginx from its line ``first`` on."""
    lines = (EXAMPLES / "nginx" / name).read_text().splitlines(keepends=True)
    return "".join(lines[lines.index(first) :])


def test_the_page_about_it_shows_the_files_of_the_example_for_nginx():
    page = (EXAMPLES.parent / "docs" / "forward-auth.md").read_text()
    assert configuration("guard.conf", "internal;\n") in page
    first = "auth_request_set $auth_user $upstream_http_x_auth_user;\n"
    assert configuration("identity.conf", first) in page
    blocks = re.findall(r"```nginx\n(.*?)```", page, re.DOTALL)
    maps = (EXAMPLES / "nginx" / "maps.conf").read_text()
    assert any(maps.endswith(block) and "map " in block for block in blocks)


@pytest.mark.parametrize(
    ("language", "example"),
    [
        *(("nginx", f"nginx/{name}.conf") for name in ("hosts", "nginx")),
        *(("caddyfile", "caddy/Caddyfile"), ("yaml", "traefik/dynamic.yml")),
    ],
)
def test_every_line_of_the_other_blocks_is_in_the_complete_example(language, example):
    page = (EXAMPLES.parent / "docs" / "forward-auth.md").read_text()
    blocks = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    # Of nginx, the first three are separate files.
    shown = "".join(blocks[3:] if language == "nginx" else blocks)
    example = " ".join((EXAMPLES / example).read_text().split())
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    missing = [line for line in lines if line not in example and line != "app.example.org {"]
    assert missing == []
    assert language == "yaml" or "/v1/guard/any?" in shown


def test_the_examples_let_only_confirmed_users_pass(site):
    for proxy, cookies in ((Traefik(site), "&cookies=1"), (Caddy(site), "")):
        assert proxy.way("/orders", {})[1] == f"/v1/guard/web?verified=1&redirect=1{cookies}"
        assert proxy.way("/api/reports", {})[1] == f"/v1/guard/api?verified=1&caller=any{cookies}"
    target = Caddy(site).way("/reports/1", {})[1]
    assert target == "/v1/guard/any?verified=1&caller=any&redirect=1"
