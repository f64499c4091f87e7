"""The recipes for nginx and Caddy, run for real: who passes, and what the application learns.

The application behind them knows its users by ``X-Auth-Email``, and speaks WebSocket.
"""

from contextlib import ExitStack

import httpx
import pytest

from tests.conftest import need
from tests.support import databases
from tests.support.mails import link_in
from tests.support.pages import csrf_of, hidden_in
from tests.support.recipes import (
    BROWSER,
    CEO,
    application,
    available,
    ext_authz,
    recipe,
    web_socket,
)
from tests.support.servers import free_port, serving, write_ini
from tests.support.site import PASSWORD, WEB, Site, bearer

pytestmark = pytest.mark.slow

NAMES = ("User", "Email", "Email-Verified", "Client", "Scope", "Login-Url", "Acr", "Amr", "Time")
SPOOFED = {
    **{f"X-Auth-{name}": "root" for name in NAMES},
    "x-auth-user": "root",
    "X_Auth_User": "root",
    "X_Auth-Email": CEO,
    "X-Auth-Email": CEO,
    "X-Forwarded-Host": "evil.example",
    "X-Original-URL": "https://evil.example/",
}
SCRIPTS = [
    {"Accept": "*/*"},
    {"Accept": "application/json"},
    {"Accept": "text/html", "Sec-Fetch-Dest": "empty"},
    {"Accept": "text/html", "Sec-Fetch-Dest": "iframe"},
]


class Behind:
    """A running recipe: authsite, the application and the proxy in front of both."""

    def __init__(self, name, folder, stack):
        port = free_port()
        self.url, self.port = f"http://localhost:{port}", port
        url = databases.migrated(databases.new_url("sqlite", folder, "recipe"))
        settings = {"base_url": f"{self.url}/auth", "trusted_proxies": "127.0.0.1", **WEB}
        self.site = Site(url, **settings)
        stack.callback(self.site.database.dispose)
        self.site.first_party("web")
        ini = write_ini(folder, url, mail_sender="none", **settings)
        self.authsite = authsite = stack.enter_context(serving(ini)).base_url.port
        self.app = stack.enter_context(application())
        own = self.app.server_port
        stack.enter_context(recipe(name, folder, port=port, authsite=authsite, app=own))
        self.stack = stack

    def browser(self, email=None):
        """A client that asks for pages and follows no redirect; signed in as ``email``."""
        made = httpx.Client(base_url=self.url, timeout=30, headers=BROWSER)
        self.stack.callback(made.close)
        if email:
            form = {"csrf_token": csrf_of(made.get("/auth/login"))}
            login = {**form, "username": email, "password": PASSWORD}
            assert made.post("/auth/login", data=login).status_code == 303
        return made

    def token(self, email):
        """An access token of a user."""
        login = {"username": email, "password": PASSWORD}
        answer = httpx.post(f"{self.url}/auth/v1/clients/web/login", json=login)
        return answer.json()["access_token"]


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def behind(request, tmp_path_factory):
    need(available(request.param), request.param)
    with ExitStack() as stack:
        made = Behind(request.param, tmp_path_factory.mktemp(request.param), stack)
        made.ann = made.site.user("ann@example.com", confirmed=True)
        made.eve = made.site.user(CEO)  # a stranger, who registered the address of another person
        yield made


@pytest.fixture
def asked(behind):
    """What has reached the application since the test began."""
    behind.app.asked.clear()
    return behind.app.asked


def path_of(answer):
    """The path that the answer redirects to, with the query."""
    assert answer.status_code == 302, answer.text
    return answer.headers["Location"]


def test_f1_the_stranger_is_led_to_the_page_that_sends_the_link_and_reaches_nothing(behind, asked):
    browser = behind.browser(CEO)
    answer = browser.get("/orders?page=2")
    assert path_of(answer) == f"{behind.url}/auth/email/link?next=%2Forders%3Fpage%3D2"
    assert CEO in browser.get(answer.headers["Location"]).text
    for headers in SCRIPTS:
        answer = browser.get("/orders", headers=headers)
        assert answer.status_code == 403
        assert "Location" not in answer.headers
    for headers in (bearer(behind.token(CEO)), bearer(behind.token(CEO)) | SPOOFED):
        assert browser.get("/api/reports", headers=headers).status_code == 403
    assert web_socket(behind.port, "/orders/live", cookies_of(browser)) == (403, None)
    assert asked == []


def cookies_of(browser):
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}


def test_f1_who_has_confirmed_passes_and_the_application_knows_the_address(behind):
    answer = behind.browser("ann@example.com").get("/orders?page=2")
    told = answer.json()["headers"]
    assert told["X-Auth-User"] == str(behind.ann.id)
    assert told["X-Auth-Email"] == "ann@example.com"
    assert told["X-Auth-Email-Verified"] == "true"
    assert answer.json()["host"] == f"localhost:{behind.port}"
    assert answer.json()["role"] == "unknown"


def test_the_whole_way_from_the_refusal_over_the_mail_and_back(behind):
    behind.site.user("bo@example.com")
    behind.site.mails()
    browser = behind.browser("bo@example.com")
    page = browser.get(path_of(browser.get("/orders?page=2")))
    form = {"csrf_token": csrf_of(page), "email": "bo@example.com", "next": "/orders?page=2"}
    assert browser.post("/auth/email/link", data=form).status_code == 303
    [mail] = behind.site.mails()
    link = link_in(mail)
    assert link.startswith(f"{behind.url}/auth/email/verify/")
    page = browser.get(link)
    url = hidden_in(page, "url")
    done = browser.post("/auth/email/verify", data={"csrf_token": csrf_of(page), "url": url})
    assert 'href="/orders?page=2"' in done.text
    told = browser.get("/orders?page=2").json()["headers"]
    assert (told["X-Auth-Email"], told["X-Auth-Email-Verified"]) == ("bo@example.com", "true")


def test_f8_a_stranger_is_led_to_the_login_and_a_script_gets_401(behind, asked):
    browser = behind.browser()
    assert path_of(browser.get("/orders")) == f"{behind.url}/auth/login?next=/orders"
    without = httpx.Client(base_url=behind.url)
    with without:
        del without.headers["Accept"]
        assert path_of(without.get("/orders")).startswith(f"{behind.url}/auth/login?")
    for headers in SCRIPTS:
        answer = browser.get("/orders", headers=headers)
        assert answer.status_code == 401
        assert "Location" not in answer.headers
    assert asked == []


def test_f7_a_websocket_opens_for_who_is_signed_in_and_for_no_one_else(behind, asked):
    ann = cookies_of(behind.browser("ann@example.com"))
    assert web_socket(behind.port, "/orders/live", ann) == (101, "hello")
    assert asked == ["/orders/live"]
    for headers in ({}, SPOOFED, {"Accept": "text/html"}, {"Cookie": "authsite=x"}):
        assert web_socket(behind.port, "/orders/live", headers) == (401, None)
    assert asked == ["/orders/live"]


def test_forged_headers_do_not_reach_the_application(behind, asked):
    ann = behind.browser("ann@example.com")
    answer = ann.get("/orders", headers=SPOOFED).json()
    assert answer["role"] == "unknown"
    told = {name: value for name, value in answer["headers"].items() if "Auth" in name and value}
    assert told == {
        "X-Auth-User": str(behind.ann.id),
        "X-Auth-Email": "ann@example.com",
        "X-Auth-Email-Verified": "true",
        "X-Auth-Acr": "aal1",
        "X-Auth-Amr": "pwd",
        "X-Auth-Time": told["X-Auth-Time"],
    }
    assert told["X-Auth-Time"].isdecimal()
    asked.clear()
    stranger = behind.browser()
    answer = stranger.get("/orders", headers=SPOOFED)
    assert path_of(answer) == f"{behind.url}/auth/login?next=/orders"
    assert stranger.get("/api/reports", headers=SPOOFED).status_code == 401
    assert asked == []


def test_a_client_passes_at_the_api_and_has_no_address(behind):
    keys = behind.site.client("personal", scope="a", default_scope="a")
    token = behind.site.token(keys, grant_type="client_credentials").json["access_token"]
    for headers in (bearer(token), bearer(token) | SPOOFED):
        answer = httpx.get(f"{behind.url}/api/reports", headers=headers).json()
        told = answer["headers"]
        assert (told["X-Auth-Client"], told["X-Auth-Scope"]) == (keys.client_id, "a")
        assert [told.get(f"X-Auth-{name}", "") for name in NAMES[:3]] == ["", "", ""]
        assert answer["role"] == "unknown"


def test_a_path_for_both_takes_a_session_and_a_token_and_leads_only_people_on(behind, asked):
    stranger = behind.browser()
    answer = stranger.get("/reports/1?page=2")
    assert path_of(answer) == f"{behind.url}/auth/login?next=/reports/1%3Fpage%3D2"
    for headers in SCRIPTS:
        refused = stranger.get("/reports/1", headers=headers)
        assert (refused.status_code, refused.headers.get("Location")) == (401, None)
        assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    assert asked == []
    ann, keys = behind.browser("ann@example.com"), behind.site.client("personal")
    machine = behind.site.token(keys, grant_type="client_credentials").json["access_token"]
    own = stranger.get("/reports/1", headers=SPOOFED | bearer(machine)).json()["headers"]
    by_token = stranger.get("/reports/1", headers=bearer(behind.token("ann@example.com"))).json()
    by_session = ann.get("/reports/1", headers=SPOOFED).json()["headers"]
    assert (own["X-Auth-Client"], own.get("X-Auth-User", "")) == (keys.client_id, "")
    assert by_token["headers"]["X-Auth-User"] == by_session["X-Auth-User"] == str(behind.ann.id)
    assert by_token["headers"]["X-Auth-Client"]
    assert by_session.get("X-Auth-Client", "") == ""


def test_at_such_a_path_a_token_decides_and_gets_no_page(behind, asked):
    """Also beside a session, and from a program that names no type, as that of Go does."""
    ann, eve = behind.browser("ann@example.com"), behind.token(CEO)
    for client in (ann, behind.browser()):
        for accept in ({}, {"Accept": ""}, {"Accept": "*/*"}):
            for token, status in (("at_x", 401), (eve, 403)):
                refused = client.get("/reports/1", headers={**bearer(token), **accept})
                assert (refused.status_code, refused.headers.get("Location")) == (status, None)
    stranger = behind.browser(CEO)
    assert path_of(stranger.get("/reports/1")).startswith(f"{behind.url}/auth/email/link?")
    assert asked == []


def test_a_token_of_who_has_confirmed_passes_at_the_api(behind):
    token = behind.token("ann@example.com")
    told = httpx.get(f"{behind.url}/api/reports", headers=bearer(token)).json()["headers"]
    assert (told["X-Auth-Email"], told["X-Auth-Email-Verified"]) == ("ann@example.com", "true")
    refused = httpx.get(f"{behind.url}/api/reports", headers=bearer(f"{token}x"))
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"].startswith('Bearer realm="authsite"')


def test_f17_between_envoy_and_authsite_a_small_nginx_answers_any_method_and_path(behind, tmp_path):
    need(available("nginx"), "nginx")
    port = free_port()
    headers = bearer(behind.token("ann@example.com"))
    with ext_authz(tmp_path, port=port, authsite=behind.authsite):
        for method in ("GET", "POST", "DELETE"):
            url = f"http://127.0.0.1:{port}/any/path?scope=x"
            answer = httpx.request(method, url, headers=headers)
            assert (answer.status_code, answer.text) == (200, "")
            assert answer.headers["X-Auth-User"] == str(behind.ann.id)
            assert answer.headers["X-Auth-Email-Verified"] == "true"
            refused = httpx.request(method, url, headers=bearer("at_x"))
            assert refused.status_code == 401
            assert "X-Auth-User" not in refused.headers
            stranger = httpx.request(method, url, headers=bearer(behind.token(CEO)))
            assert stranger.status_code == 403
