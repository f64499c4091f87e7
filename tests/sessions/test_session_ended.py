"""A form that is sent after its session ended: where the login leads back to, and what is said."""

import pytest

from authsite.users.errors import SignInEnded
from tests.support.host import hello
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, bearer

ENDED = "Your session ended. Sign in to continue. Your changes were not saved."
FORMS = {
    "/account/profile": "profile",
    "/account/email": "email",
    "/account/email/resend": "email",
    "/account/password": "password",
    "/account/sessions/end-others": "sessions",
    "/account/sessions/5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11/end": "sessions",
    "/account/export": "export",
    "/account/delete": "delete",
    "/account/tokens": "tokens",
}
PAGES = {"password": "/account/security", "sessions": "/account/security",
         "tokens": "/account/access"}  # fmt: skip
OURS = "http://localhost"


def page_of(path):
    return PAGES.get(FORMS[path], "/account")


def login_page(answer):
    """What follows on ``OURS`` in the Location of a redirect to the login page."""
    assert answer.status_int == 302
    assert answer.location.startswith(f"{OURS}/login")
    return answer.location.removeprefix(f"{OURS}/login")


@pytest.mark.parametrize("path", FORMS)
def test_the_login_leads_back_to_the_page_of_the_form_with_the_reason(site, path):
    """house 0.1-3: a stranger's POST came back as 405."""
    site.user()
    answer = site.http.post(path, {}, headers={"Referer": f"{OURS}/account?done=profile"})
    assert login_page(answer) == "?next=/account&unsaved=1"
    page = site.http.get(answer.location)
    assert ENDED in page.text
    form = page.forms[0]
    form["username"], form["password"] = "ann@example.com", PASSWORD
    back = form.submit()
    assert back.location == f"{OURS}/account"
    site.http.get(back.location, status=200)


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("referer", ["", "https://evil.example/account", "own address"])
def test_without_a_page_of_ours_it_leads_back_to_the_form(site, path, referer):
    site.user()
    headers = {"Referer": f"{OURS}{path}" if referer == "own address" else referer}
    answer = site.http.post(path, {}, headers=headers)
    assert login_page(answer) == f"?next={path}&unsaved=1"
    assert sign_in(site, next=path).location == f"{OURS}{path}"
    assert site.http.get(path, status=302).location == f"{OURS}{page_of(path)}#{FORMS[path]}"


@pytest.mark.parametrize("path", FORMS)
def test_the_address_of_a_form_leads_to_the_form(site, path):
    """It stands in the address bar after a mistake."""
    assert login_page(site.http.get(path)) == f"?next={path}"
    site.user()
    sign_in(site)
    answer = site.http.get(path, status=302)
    assert answer.location == f"{OURS}{page_of(path)}#{FORMS[path]}"
    assert site.http.get(page_of(path)).html.select_one(f"#{FORMS[path]}")


def test_no_page_of_ours_has_an_address_that_is_405(site):
    """The class of pages M1: whatever stands in the address bar can be entered there again."""
    methods = site.app.registry["authsite.http"].methods
    pages = {name: found for name, found in methods.items() if not name_of_api(site, name)}
    assert len(pages) > 15
    assert [name for name, found in pages.items() if "GET" not in found] == []


def name_of_api(site, name):
    [path] = [
        route.pattern
        for route in site.app.routes_mapper.get_routes(include_static=True)
        if route.name == name
    ]
    return path.startswith("/v1") or path.endswith("/check")  # which a page's script calls


@pytest.mark.parametrize(
    "referer",
    ["https://evil.example/", "http://localhost.evil.example/", "http://localhost:81/account",
     "https://localhost/account", f"{OURS}//evil.example", f"{OURS}/\\evil.example", "/account",
     f"{OURS}@evil.example/", "http://[", OURS, f"{OURS}/\x01", "é", "javascript:alert(1)",
     f"{OURS}/" + "a" * 3000],
)  # fmt: skip
@pytest.mark.control("S07")
def test_a_hostile_referer_is_never_a_target(site, referer):
    headers = {"Referer": referer.encode().decode("latin-1")}
    answer = site.http.post("/account/profile", {}, headers=headers)
    assert login_page(answer) == "?next=/account/profile&unsaved=1"


def test_without_an_unsafe_request_nothing_was_lost(site):
    assert login_page(site.http.get("/account")) == "?next=/account"
    assert ENDED not in site.http.get("/login?next=/account").text


def host(config):
    """Pages of a host: with a form at its own address, one that posts elsewhere, a route each."""
    for name, path, options in [
        ("both", "/both", {}),
        ("page", "/page", {}),
        ("act", "/act", {}),
        ("show", "/split", {"request_method": "GET"}),
        ("save", "/split", {"request_method": "POST"}),
    ]:
        config.add_route(name, path, guard="web", **options)
    for name, method in [("both", None), ("page", "GET"), ("act", "POST"),
                         ("show", None), ("save", None)]:  # fmt: skip
        config.add_view(hello, route_name=name, request_method=method)


@pytest.mark.parametrize(
    ("path", "referer", "target"),
    [
        ("/both?id=5", None, "/both%3Fid%3D5"),
        ("/act", f"{OURS}/page?id=5", "/page%3Fid%3D5"),
        ("/split", None, "/split"),
        ("/act", f"{OURS}/elsewhere/by/traversal", "/elsewhere/by/traversal"),
        ("/act", f"{OURS}/act", None),  # shown again with its mistakes
        ("/act", None, None),
    ],
)
def test_a_hosts_form_leads_back_to_an_address_that_accepts_get(host_with, path, referer, target):
    site = host_with(host)
    answer = site.http.post(path, {}, headers={"Referer": referer} if referer else {})
    assert login_page(answer) == (f"?next={target}&unsaved=1" if target else "?unsaved=1")


def test_a_sign_in_that_ends_while_the_view_runs_gets_the_response_of_the_guard(host_with):
    def ended(_request):
        raise SignInEnded

    def build(config):
        for guard, path in {"web": "/page", "api": "/v1/reports"}.items():
            config.add_route(guard, path, guard=guard)
            config.add_view(ended, route_name=guard)

    site = host_with(build)
    site.user()
    sign_in(site)
    answer = site.http.post("/page", {}, status=303)
    assert answer.location == f"{OURS}/login?next=/page&unsaved=1"
    token = site.login(site.client())["access_token"]
    refused = site.http.post("/v1/reports", headers=bearer(token), status=401)
    assert refused.headers["WWW-Authenticate"] == 'Bearer realm="authsite", error="invalid_token"'


def test_a_login_page_of_another_origin_is_reached_over_a_page_of_ours(site_with):
    """The class of pages B1: a form's answer that redirects to another origin."""
    site = site_with(login_page_url="https://sso.example.org/in?a=b")
    answer = site.http.post("/account/profile", {}, headers={"Referer": f"{OURS}/account"})
    assert login_page(answer) == "?next=/account&unsaved=1"
    page = site.http.get(answer.location, status=200)
    target = page.html.select_one("main a")["href"]
    assert target.startswith("https://sso.example.org/in?a=b&next=")
    assert page.html.select_one("meta[http-equiv=refresh]")["content"] == f"0;url={target}"
    assert "Your changes were not saved" in page.text


def test_password_managers_find_the_form(site):
    answer = site.http.get("/.well-known/change-password", status=302)
    form = site.http.get(answer.location, status=302)
    assert login_page(form) == "?next=/account/password"
    site.user()
    sign_in(site)
    assert (
        site.http.get(answer.location, status=302).location == f"{OURS}/account/security#password"
    )
