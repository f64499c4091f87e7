"""An application behind nginx and forward auth: TLS, a separate host, Chromium."""

import signal
import time
from contextlib import ExitStack
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.conftest import need
from tests.support import browsers, nginx
from tests.support.guarded import APP, AUTH, ONE, Guarded
from tests.support.site import PASSWORD, bearer

pytestmark = pytest.mark.slow

EMAIL = "ann@example.com"
SPOOFED = {
    "X-Auth-User": "root",
    "X-Auth-Email": "root@example.com",
    "X-Auth-Email-Verified": "root",
    "X-Auth-Client": "root",
    "X-Auth-Scope": "everything",
    "X-Auth-Groups": "everything",
    "X-Auth-Acr": "phr",
    "X-Auth-Amr": "everything",
    "X-Auth-Time": "4102444800",
    "x-auth-user": "root",
    "X_Auth_User": "root",
    "X-Auth-Login-Url": "https://evil.example/",
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    need(nginx.available(), "nginx")
    with ExitStack() as stack:
        made = Guarded(tmp_path_factory.mktemp("guarded"), stack)
        made.ann = made.site.user(EMAIL, confirmed=True)
        yield made


@pytest.fixture(scope="module")
def browser(guarded, playwright):
    with browsers.chromium(
        playwright,
        guarded.front.folder / "browser",
        guarded.authority,
        front=guarded.front,
        program=browsers.AS_PEOPLE_HAVE_IT,
    ) as browser:
        yield browser


@pytest.fixture
def page(browser):
    context = browser.new_context()
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def token(guarded):
    return guarded.site.login(guarded.keys)["access_token"]


@pytest.fixture
def session(guarded):
    """The Cookie header of a browser that is signed in at the service."""
    http = guarded.client(AUTH)
    form = http.get("/login").text
    csrf = form.partition('name="csrf_token"')[2].partition('value="')[2].partition('"')[0]
    login = {"username": EMAIL, "password": PASSWORD, "csrf_token": csrf}
    assert http.post("/login", data=login).status_code == 303
    return {"Cookie": f"__Secure-authsite-guard={http.cookies['__Secure-authsite-guard']}"}


def sign_in(page, base_url=f"https://{AUTH}"):
    page.wait_for_url(f"{base_url}/login?**")
    page.locator("[name=username]").fill(EMAIL)
    page.locator("[name=password]").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def login_of(answer):
    """The query of the login page that the answer redirects to."""
    assert answer.status_code == 302, answer.text
    url = urlsplit(answer.headers["Location"])
    assert (url.scheme, url.netloc, url.path) == ("https", AUTH, "/login")
    return parse_qs(url.query)


@pytest.mark.parametrize(
    ("path", "title"), [("/orders?page=2&q=a%2Fb", "Orders"), ("/manual/", "Manual")]
)
def test_a_page_leads_to_the_login_and_the_login_back_to_the_page(page, path, title):
    page.goto(f"https://{APP}{path}")
    sign_in(page)
    page.wait_for_url(f"https://{APP}{path}")
    assert page.title() == title
    page.goto(f"https://{APP}/other")  # signed in for every page of the host
    page.get_by_text(f"Orders of {EMAIL}").wait_for()


def test_on_one_host_a_page_leads_to_the_login_below_a_path_and_back(page, guarded, token):
    page.goto(f"https://{ONE}/second.html?page=2")
    sign_in(page, f"https://{ONE}/auth")
    page.wait_for_url(f"https://{ONE}/second.html?page=2")
    page.get_by_role("heading", name="The second page").wait_for()
    page.goto(f"https://{ONE}/")
    page.get_by_role("link", name="Your account").click()
    page.get_by_text(EMAIL).first.wait_for()
    http = guarded.client(ONE)
    assert http.get("/api/reports").status_code == 401
    told = http.get("/api/reports", headers={**SPOOFED, **bearer(token)}).json()
    assert (told["X-Auth-Email"], told["X-Auth-Scope"]) == (EMAIL, "")


def test_a_form_that_is_sent_after_its_session_ended_leads_back_to_its_page(page):
    page.goto(f"https://{APP}/orders?page=3")
    sign_in(page)
    page.wait_for_url(f"https://{APP}/orders?page=3")
    page.context.clear_cookies()
    page.get_by_role("button", name="New order").click()
    page.get_by_text("Your changes were not saved.").wait_for()
    sign_in(page)
    page.wait_for_url(f"https://{APP}/orders?page=3")
    page.get_by_role("button", name="New order").click()
    page.wait_for_url(f"https://{APP}/orders/new")


def test_signing_out_at_the_service_closes_the_application_at_once(page):
    page.goto(f"https://{APP}/orders")
    sign_in(page)
    page.wait_for_url(f"https://{APP}/orders")
    page.goto(f"https://{AUTH}/logout")
    page.locator('form[action$="/logout"] button').first.click()
    page.wait_for_url(lambda url: not url.endswith("/logout"))
    page.goto(f"https://{APP}/orders")
    page.wait_for_url(f"https://{AUTH}/login?**")


def test_a_token_opens_the_api_and_the_application_learns_whose_it_is(guarded, token):
    told = guarded.client().get("/api/reports", headers=bearer(token)).json()
    assert abs(int(told.pop("X-Auth-Time")) - time.time()) < 600
    assert told == {
        "X-Auth-Acr": "aal1",
        "X-Auth-Amr": "pwd",
        "X-Auth-User": str(guarded.ann.id),
        "X-Auth-Email": EMAIL,
        "X-Auth-Email-Verified": "true",
        "X-Auth-Client": guarded.keys.client_id,
        "X-Auth-Scope": "",
        "X-Auth-Groups": "",
    }


def test_without_a_good_token_the_api_answers_401_with_the_challenge(guarded, token, session):
    http = guarded.client()
    for headers in ({}, session, bearer("at_x"), bearer(f"{token}x"), SPOOFED):
        answer = http.get("/api/reports", headers=headers)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="authsite"')
        assert "X-Auth-User" not in answer.text


def test_a_token_does_not_open_pages(guarded, token):
    login_of(guarded.client().get("/orders", headers=bearer(token)))


def test_headers_that_a_client_sends_itself_are_replaced(guarded, token, session):
    http = guarded.client()
    answer = http.get("/api/reports", headers={**SPOOFED, **bearer(token)})
    assert answer.json()["X-Auth-User"] == str(guarded.ann.id)
    assert "root" not in answer.text
    assert "everything" not in answer.text
    machine = guarded.site.client("personal")
    own = guarded.site.token(machine, grant_type="client_credentials").json["access_token"]
    answer = http.get("/api/reports", headers={**SPOOFED, **bearer(own)})
    assert answer.json() == {
        "X-Auth-User": "",
        "X-Auth-Email": "",
        "X-Auth-Email-Verified": "",
        "X-Auth-Client": machine.client_id,
        "X-Auth-Scope": "",
        "X-Auth-Groups": "",
        "X-Auth-Acr": "",
        "X-Auth-Amr": "",
        "X-Auth-Time": "",
    }
    hop = {"Connection": "close, X-Auth-User", **bearer(token)}  # as if of one connection only
    assert http.get("/api/reports", headers=hop).json()["X-Auth-User"] == str(guarded.ann.id)
    answer = http.get("/orders", headers={**SPOOFED, **session})
    assert f"Orders of {EMAIL}" in answer.text
    assert "next" in login_of(http.get("/orders", headers=SPOOFED))


@pytest.mark.parametrize("path", ["/guard/web", "/guard/api"])
def test_the_questions_of_nginx_are_not_for_clients(guarded, path, token):
    assert guarded.client().get(path, headers=bearer(token)).status_code == 404


def test_headers_about_the_page_do_not_change_where_the_login_leads(guarded):
    spoofed = {
        "X-Original-URL": "https://evil.example/",
        "X-Original-Method": "POST",
        "X-Forwarded-Uri": "//evil.example/",
        "X-Forwarded-Method": "POST",
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "http",
        "Forwarded": "host=evil.example;proto=http",
    }
    query = login_of(guarded.client().get("/orders?a=b", headers=spoofed))
    assert query == {"next": [f"https://{APP}/orders?a=b"]}


def test_a_long_address_leads_to_the_login_and_an_even_longer_one_without_the_page(guarded):
    http = guarded.client()
    url = f"https://{APP}/orders?" + "&=" * 900
    assert login_of(http.get(url))["next"] == [url]
    assert "next" not in login_of(http.get("/orders?" + "a" * 3000))


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example/", "/%0d%0aX:y"])
def test_odd_addresses_stay_at_the_application_or_are_left_out(guarded, path):
    answer = guarded.client().get(f"https://{APP}{path}")
    target = login_of(answer).get("next", [f"https://{APP}/"])[0]
    assert target.startswith(f"https://{APP}/")
    assert "X" not in answer.headers


def test_bodies_reach_the_application_and_not_the_question(guarded, token):
    http = guarded.client()
    for body in (b"x" * 500_000, iter([b"x" * 1000] * 50)):
        answer = http.post("/api/reports", content=body, headers=bearer(token))
        assert answer.json()["X-Auth-Email"] == EMAIL
    answer = http.post("/api/reports", content=b"x" * 500_000)
    assert answer.status_code == 401


def test_a_revoked_token_is_refused_by_the_next_request(guarded):
    http = guarded.client()
    for _ in range(20):
        headers = bearer(guarded.site.login(guarded.keys)["access_token"])
        assert http.get("/api/reports", headers=headers).status_code == 200
        assert guarded.client(AUTH).delete("/v1/logout", headers=headers).status_code == 200
        assert http.get("/api/reports", headers=headers).status_code == 401


def test_while_authsite_does_not_answer_nginx_lets_nothing_pass(tmp_path, token, guarded):
    need(nginx.available(), "nginx")
    with ExitStack() as stack:
        own = Guarded(tmp_path, stack)
        own.site.user(EMAIL, confirmed=True)
        headers = bearer(own.site.login(own.keys)["access_token"])
        http = own.client()
        assert http.get("/api/reports", headers=headers).status_code == 200
        own.server.process.send_signal(signal.SIGTERM)
        own.server.process.wait(30)
        for path in ("/api/reports", "/orders", "/manual/"):
            for sent in (headers, {}, SPOOFED):
                answer = http.get(path, headers=sent)
                assert answer.status_code == 500
                assert "Orders" not in answer.text
                assert "Manual" not in answer.text


def test_m2_an_application_opens_no_page_of_authsite_with_the_cookies_of_its_host(guarded, page):
    """What its host receives is replayed under every name that opens our pages."""
    page.goto(f"https://{APP}/orders")
    sign_in(page)
    page.wait_for_url(f"https://{APP}/orders")
    received = page.context.cookies(f"https://{APP}/")
    assert {"__Secure-authsite-guard"} <= {each["name"] for each in received}
    assert not {each["name"] for each in received} & {"__Host-authsite", "authsite"}
    for each in received:
        for name in (each["name"], "__Host-authsite", "authsite", "__Secure-authsite"):
            headers = {"Cookie": f"{name}={each['value']}"}
            assert guarded.client(AUTH).get("/account", headers=headers).status_code == 302, name
    guard = {"Cookie": "; ".join(f"{each['name']}={each['value']}" for each in received)}
    assert guarded.client().get("/orders", headers=guard).status_code == 200


def test_a_browser_that_is_signed_in_is_led_on_after_its_guard_cookie_was_replaced(page):
    """A page of another application of the domain can replace the cookie or delete it."""
    page.goto(f"https://{APP}/orders")
    sign_in(page)
    page.wait_for_url(f"https://{APP}/orders")
    for value in ("of-another-application", ""):
        [guard] = [x for x in page.context.cookies() if x["name"] == "__Secure-authsite-guard"]
        page.context.clear_cookies(name=guard["name"])
        if value:
            page.context.add_cookies([{**guard, "value": value}])
        page.goto(f"https://{APP}/orders?page=2")
        page.wait_for_url(f"https://{APP}/orders?page=2")
        page.get_by_role("heading", name="Orders").wait_for()
        assert guard in page.context.cookies()
