"""A user who has to confirm the address first is led to the page that mails the link, and back."""

from urllib.parse import parse_qs, urlsplit

import pytest

from authsite.users import service as users
from tests.guards.test_forward_auth import confirm, token_of
from tests.support.acting import acting
from tests.support.host import hello
from tests.support.mails import link_in
from tests.support.pages import csrf_of, sign_in
from tests.support.site import PASSWORD, bearer

WEB = "/v1/guard/web"
AUTH, APP = "https://auth.example.org", "https://app.example.org"
SETTINGS = {
    "base_url": AUTH,
    "trusted_proxies": "10.0.0.1",
    "return_origins": APP,
    "session_cookie_domain": "example.org",
}
PROXY = {"REMOTE_ADDR": "10.0.0.1"}
ORDERS = {"X-Original-URL": f"{APP}/orders?page=2", "Accept": "text/html"}


def build(config):
    config.add_route("members", "/members", guard="web", verified=True)
    config.add_view(hello, route_name="members")


@pytest.fixture
def site(site_with):
    made = site_with(**SETTINGS)
    made.user()
    made.mails()
    return made


def ask(site, query, status, headers=ORDERS):
    cookies = {"Cookie": "; ".join(f"{each.name}={each.value}" for each in site.http.cookiejar)}
    return site.http.get(
        f"{AUTH}{WEB}?{query}", headers=headers | cookies, extra_environ=PROXY, status=status
    )


def led_to(url):
    """The path of a URL of ours, and the page to come back to."""
    assert url.startswith(f"{AUTH}/")
    parts = urlsplit(url)
    return parts.path, parse_qs(parts.query).get("next", [None])[0]


def test_forward_auth_names_the_page_that_sends_the_link_with_the_way_back(site):
    sign_in(site)
    answer = ask(site, "verified=1", 403)
    assert led_to(answer.headers["X-Auth-Login-Url"]) == ("/email/link", f"{APP}/orders?page=2")
    assert "X-Auth-User" not in answer.headers
    answer = ask(site, "verified=1&redirect=1", 302)
    assert led_to(answer.headers["Location"]) == ("/email/link", f"{APP}/orders?page=2")
    script = ORDERS | {"Sec-Fetch-Dest": "empty"}
    answer = ask(site, "verified=1&redirect=1", 403, script)
    assert led_to(answer.headers["X-Auth-Login-Url"]) == ("/email/link", f"{APP}/orders?page=2")


def test_the_way_back_after_a_form_is_the_page_of_the_form(site):
    sign_in(site)
    posted = ORDERS | {"X-Original-Method": "POST", "Referer": f"{APP}/orders/form"}
    answer = ask(site, "verified=1", 403, posted)
    assert led_to(answer.headers["X-Auth-Login-Url"]) == ("/email/link", f"{APP}/orders/form")
    elsewhere = posted | {"Referer": "https://evil.example/form"}
    answer = ask(site, "verified=1", 403, elsewhere)
    assert led_to(answer.headers["X-Auth-Login-Url"]) == ("/email/link", None)


def test_a_page_that_a_login_may_not_lead_to_is_left_out(site):
    sign_in(site)
    answer = ask(site, "verified=1", 403, ORDERS | {"X-Original-URL": "https://evil.example/"})
    assert led_to(answer.headers["X-Auth-Login-Url"]) == ("/email/link", None)


def test_a_proxy_that_guards_the_page_itself_gets_no_redirect_to_it(site):
    sign_in(site)
    own = ORDERS | {"X-Original-URL": f"{AUTH}/email/link?next=/orders"}
    answer = ask(site, "verified=1&redirect=1", 403, own)
    assert answer.json["errors"][0]["code"] == "login_page_guarded"


def test_a_token_of_a_user_who_has_to_confirm_is_told_the_page_too(site):
    headers = bearer(token_of(site))
    answer = site.http.get("/v1/guard/api?verified=1", headers=headers, status=403)
    assert answer.headers["X-Auth-Login-Url"] == f"{AUTH}/email/link"
    answer = site.http.get("/v1/guard/api?caller=client", headers=headers, status=403)
    assert "X-Auth-Login-Url" not in answer.headers


def press(site, page):
    """Press the button of the page that sends the link; the answer."""
    form = {name: field[0].value for name, field in page.forms[0].fields.items() if name}
    return site.http.post(f"{AUTH}{page.forms[0].action}", form)


def test_the_signed_in_user_presses_once_confirms_and_comes_back(site):
    sign_in(site)
    page = site.http.get(ask(site, "verified=1", 403).headers["X-Auth-Login-Url"])
    assert "ann@example.com" in page.text
    assert 'type="email"' not in page.text
    assert press(site, page).status_int == 303
    [mail] = site.mails()
    assert mail["To"] == "ann@example.com"
    verify = site.http.get(link_in(mail))
    form = {"csrf_token": csrf_of(verify), "url": verify.forms[0]["url"].value}
    done = site.http.post(f"{AUTH}/email/verify", form, status=200)
    assert done.html.find("a", class_="primary")["href"] == f"{APP}/orders?page=2"
    assert ask(site, "verified=1", 204).headers["X-Auth-Email"] == "ann@example.com"


def test_who_has_confirmed_elsewhere_goes_on_when_the_page_is_loaded_again(site):
    sign_in(site)
    url = ask(site, "verified=1", 403).headers["X-Auth-Login-Url"]
    site.http.get(url, status=200)
    confirm(site)
    answer = site.http.get(url, status=303)
    assert answer.headers["Location"] == f"{APP}/orders?page=2"


def test_a_signed_in_user_is_told_of_the_limit_and_a_stranger_is_not(site_with):
    site = site_with(limits="on", limits_verification="1/hour")
    site.user()
    sign_in(site)
    assert press_own(site).status_int == 303
    answer = press_own(site)
    assert answer.status_int == 429
    assert "Retry-After" in answer.headers


def press_own(site):
    page = site.http.get("/email/link")
    form = {name: field[0].value for name, field in page.forms[0].fields.items() if name}
    return site.http.post("/email/link", form, status="*")


@pytest.mark.parametrize("prefix", [None, "auth"])
def test_the_page_of_a_host_offers_the_same(host_with, prefix):
    site = host_with(build, prefix=prefix)
    ann = site.user()
    login = site.http.get(f"{site.prefix}/login")
    form = {"csrf_token": csrf_of(login), "username": ann.email, "password": PASSWORD}
    assert site.http.post(f"{site.prefix}/login", form).status_int == 303
    answer = site.http.get("/members?page=2", headers={"Accept": "text/html"}, status=403)
    link = answer.html.find("a", class_="primary")["href"]
    assert link == f"{site.prefix}/email/link?next=%2Fmembers%3Fpage%3D2"
    site.http.get(link, status=200)
    with site.db() as db:
        users.confirm(acting(db), users.find(db, str(ann.id)))
    assert site.http.get(link, status=303).headers["Location"].endswith("/members?page=2")
    answer = site.http.get("/members?page=2", headers={"Accept": "text/html"}, status=200)
    assert answer.text == "hello ann@example.com"
