"""One rule for every web guard: only a request that asks for a page is redirected (F8)."""

import pytest

from tests.support.host import hello
from tests.support.pages import csrf_of, sign_in

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
PAGES = [
    {},
    {"Accept": BROWSER},
    {"Accept": "text/html"},
    {"Accept": "application/json, TEXT/HTML;q=0.1"},
    {"Accept": BROWSER, "Sec-Fetch-Dest": "document"},
]
SCRIPTS = [
    {"Accept": "*/*"},
    {"Accept": "application/json"},
    {"Accept": "image/avif,image/webp,*/*;q=0.8"},
    {"Accept": "text/*"},
    {"Accept": "*/*", "X-Requested-With": "XMLHttpRequest"},
    {"Accept": "*/*", "Sec-Fetch-Dest": "document"},
    {"Accept": "application/json", "Sec-Fetch-Dest": "document"},
    *(
        {"Accept": BROWSER, "Sec-Fetch-Dest": dest}
        for dest in ("empty", "iframe", "frame", "image", "websocket", "script", "worker", "")
    ),
    {"Sec-Fetch-Dest": "empty"},
]
# What is refused, on pages of ours and of a host and by forward auth; and by its status there.
PATHS = ["/billing", "/account", "/v1/guard/web?redirect=1", "/v1/guard/web?verified=1&redirect=1"]


def build(config):
    for name, options in (
        ("billing", {}),
        ("safe", {"fresh": "10m"}),
        ("members", {"verified": True}),
    ):
        config.add_route(name, f"/{name}", guard="web", **options)
        config.add_view(hello, route_name=name)


@pytest.fixture
def site(host_with):
    return host_with(build)


def ids(headers):
    return "; ".join(f"{name}: {value}"[:50] for name, value in headers.items()) or "no header"


@pytest.mark.parametrize("headers", PAGES, ids=ids)
def test_who_asks_for_a_page_is_led_to_the_login(site, headers):
    for path in PATHS:
        answer = site.http.get(path, headers=headers, status=302)
        assert answer.headers["Location"].startswith("http://localhost/login")


@pytest.mark.parametrize("headers", SCRIPTS, ids=ids)
def test_f8_everything_else_gets_401_and_no_redirect(site, headers):
    for path in PATHS:
        answer = site.http.get(path, headers=headers, status=401)
        assert answer.json["errors"] == []
        assert "Location" not in answer.headers
        forward_auth = path.startswith("/v1/guard")
        assert ("X-Auth-Login-Url" in answer.headers) == forward_auth


def test_a_login_that_is_too_old_is_401_for_a_script(site, frozen):
    site.user()
    sign_in(site)
    frozen.advance(3600)
    for headers in PAGES:
        site.http.get("/safe", headers=headers, status=302)
    for headers in SCRIPTS:
        answer = site.http.get("/safe", headers=headers, status=401)
        assert answer.json["errors"][0]["code"] == "insufficient_user_authentication"


def test_a_refusal_for_want_of_confirmation_is_a_page_or_json_by_the_same_rule(site):
    site.user()
    sign_in(site)
    for headers in PAGES:
        assert "/email/link?next=" in site.http.get("/members", headers=headers, status=403).text
        site.http.get("/v1/guard/web?verified=1&redirect=1", headers=headers, status=302)
    for headers in SCRIPTS:
        for path in ("/members", "/v1/guard/web?verified=1&redirect=1"):
            answer = site.http.get(path, headers=headers, status=403)
            assert answer.json["errors"][0]["code"] == "email_not_verified"


def test_a_form_of_the_account_page_that_a_script_sends_without_a_session_gets_401(site):
    site.user()
    sign_in(site)
    form = {"csrf_token": csrf_of(site.http.get("/account")), "name": "Ann"}
    site.http.reset()
    for headers in SCRIPTS:
        site.http.post("/account/profile", form, headers=headers, status=401)
    site.http.post("/account/profile", form, headers=PAGES[1], status=302)
