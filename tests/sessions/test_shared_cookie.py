"""`session-cookie-domain`: what applications of the domain receive opens no page of authsite."""

import pytest

from authsite.sign_in.sessions.service import guard_key
from authsite.testing import session_cookie
from tests.support.host import hello
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, Site

AUTH, APP = "https://auth.example.org", "https://app.example.org"
SETTINGS = {
    "base_url": AUTH,
    "return_origins": APP,
    "session_cookie_domain": "example.org",
}
HTTP = {"base_url": "http://host.example.org", "session_cookie_domain": "example.org"}
SESSION, GUARD = "__Host-authsite", "__Secure-authsite-guard"
WEB = f"{AUTH}/v1/guard/web"
NEW = "purple wolf 77 tea"


@pytest.fixture
def site(site_with):
    made = site_with(**SETTINGS)
    made.user()
    return made


def lines(answer):
    """The Set-Cookie lines of an answer by name; a later one replaces an earlier one."""
    return {line.partition("=")[0]: line for line in answer.headers.getall("Set-Cookie")}


def value_of(answer, name):
    return lines(answer)[name].partition("=")[2].partition(";")[0]


def keys_of(site, **fields):
    """The session key and the guard key of Ann, who signs in; the test browser forgets both."""
    answer = sign_in(site, **fields)
    keys = value_of(answer, SESSION), value_of(answer, GUARD)
    site.http.reset()
    return keys


def status(site, url, **cookies):
    """The status of a request with just these cookies (`session`, `guard` or a whole name)."""
    names = {"session": SESSION, "guard": GUARD}
    sent = "; ".join(f"{names.get(name, name)}={value}" for name, value in cookies.items())
    site.http.reset()
    return site.http.get(url, headers={"Cookie": sent}, status="*").status_int


def test_a_login_sets_a_cookie_for_this_host_and_another_one_for_the_domain(site):
    set_by_login = lines(sign_in(site))
    assert "domain" not in set_by_login[SESSION].lower()
    assert "; Domain=example.org;" in set_by_login[GUARD]
    for name in (SESSION, GUARD):
        for attribute in ("Path=/;", "secure", "HttpOnly", "SameSite=Lax"):
            assert attribute in set_by_login[name]
        assert "Max-Age" not in set_by_login[name]
    site.http.reset()
    remembered = lines(sign_in(site, remember="1"))
    assert all("Max-Age=7776000;" in remembered[name] for name in (SESSION, GUARD))


def test_on_http_the_names_have_no_prefix(site_with):
    site = site_with(**HTTP)
    site.user()
    assert {"authsite", "authsite-guard"} <= lines(sign_in(site)).keys()


def test_each_cookie_opens_only_what_it_is_for(site):
    session, guard = keys_of(site)
    assert session != guard
    assert status(site, f"{AUTH}/account", session=session) == 200
    assert status(site, WEB, guard=guard) == 204
    assert status(site, f"{AUTH}/account", guard=guard) == 302
    assert status(site, WEB, session=session) == 401


@pytest.mark.control("S02")
def test_an_application_cannot_open_our_pages_with_what_it_receives(site):
    session, guard = keys_of(site)
    for value in (guard, guard_key(guard)):
        assert status(site, f"{AUTH}/account", session=value) == 302
        assert status(site, f"{AUTH}/account", session=value, guard=guard) == 302
    for value in (session, guard_key(guard)):
        assert status(site, WEB, guard=value) == 401


def test_the_cookie_of_before_counts_as_none(site):
    session, guard = keys_of(site)
    for value in (session, guard):
        for url in (f"{AUTH}/account", WEB):
            assert status(site, url, **{"__Secure-authsite": value}) in (302, 401)


def test_without_the_setting_there_is_one_cookie(site_with):
    site = site_with(base_url=AUTH)
    site.user()
    answer = sign_in(site)
    assert GUARD not in lines(answer)
    session = value_of(answer, SESSION)
    assert status(site, WEB, session=session) == 204
    assert status(site, f"{AUTH}/account", session=session) == 200
    assert status(site, WEB, guard=guard_key(session)) == 401


def test_no_guard_key_opens_a_page_after_the_setting_was_removed(site, database_url):
    session, guard = keys_of(site)
    without = Site(database_url, base_url=AUTH, return_origins=APP)
    for value in (guard, session):
        assert status(without, f"{AUTH}/account", session=value) == 302
        assert status(without, WEB, session=value) == 401
    without.database.dispose()


@pytest.mark.parametrize("sent", [{}, {GUARD: "of-another-session"}])
def test_our_pages_set_a_missing_guard_cookie_before_they_lead_on(site, sent):
    session, guard = keys_of(site)
    cookies = "; ".join(f"{name}={value}" for name, value in {SESSION: session, **sent}.items())
    answer = site.http.get(
        f"{AUTH}/login?next={APP}/reports", headers={"Cookie": cookies}, status=303
    )
    assert answer.headers["Location"] == f"{APP}/reports"
    assert value_of(answer, GUARD) == guard
    assert "; Domain=example.org;" in lines(answer)[GUARD]
    for page, status in (("/", 302), ("/account", 200), ("/logout", 200)):
        shown = site.http.get(f"{AUTH}{page}", headers={"Cookie": cookies}, status=status)
        assert value_of(shown, GUARD) == guard
    site.http.reset()
    fitting = {"Cookie": f"{SESSION}={session}; {GUARD}={guard}"}
    assert GUARD not in lines(site.http.get(f"{AUTH}/account", headers=fitting, status=200))


def test_a_guard_cookie_given_twice_is_deleted_and_set_again(site):
    session, guard = keys_of(site)
    twice = {"Cookie": f"{GUARD}=x; {SESSION}={session}; {GUARD}={guard}"}
    site.http.get(WEB, headers=twice, status=401)
    answer = site.http.get(f"{AUTH}/login?next={APP}/", headers=twice, status=303)
    of_guard = [line for line in answer.headers.getall("Set-Cookie") if line.startswith(GUARD)]
    assert "Max-Age=0" in of_guard[0]
    assert of_guard[-1].startswith(f"{GUARD}={guard};")


def test_the_set_cookie_lives_as_long_as_the_session(site, frozen):
    session, _guard = keys_of(site, remember="1")
    frozen.advance(80 * 86400)
    headers = {"Cookie": f"{SESSION}={session}"}
    answer = site.http.get(f"{AUTH}/account", headers=headers, status=200)
    assert "Max-Age=864000;" in lines(answer)[GUARD]


def test_a_renewed_key_renews_both_and_a_logout_clears_both(site):
    former = sign_in(site)
    fields = {"current_password": PASSWORD, "password": NEW}
    answer = submit(site, "/account/password", page="/account", **fields)
    new = value_of(answer, SESSION), value_of(answer, GUARD)
    assert new != (value_of(former, SESSION), value_of(former, GUARD))
    assert new[1] == guard_key(new[0])
    cleared = lines(submit(site, "/logout"))
    for name in (SESSION, GUARD):
        assert "Max-Age=0;" in cleared[name]
    assert "; Domain=example.org;" in cleared[GUARD]
    assert status(site, WEB, guard=new[1]) == 401


def test_a_renewed_key_ends_the_former_guard_key_at_once(site):
    first = sign_in(site)
    fields = {"current_password": PASSWORD, "password": NEW}
    second = submit(site, "/account/password", page="/account", **fields)
    assert status(site, WEB, guard=value_of(first, GUARD)) == 401
    assert status(site, WEB, guard=value_of(second, GUARD)) == 204


def test_a_new_login_replaces_the_session_of_the_browser(site):
    first, _ = value_of(sign_in(site), GUARD), None
    submit(site, "/login", page="/login?prompt=login", username="ann@example.com",
           password=PASSWORD)  # fmt: skip
    assert status(site, WEB, guard=first) == 401


@pytest.mark.parametrize("cache", ["0s", "10s"])
def test_with_a_guard_cache_the_cookies_open_the_same(site_with, cache):
    site = site_with(**SETTINGS, guard_cache=cache)
    site.user()
    session, guard = keys_of(site)
    for _ in range(2):
        assert status(site, WEB, guard=guard) == 204
        assert status(site, WEB, guard=session) == 401
        assert status(site, f"{AUTH}/account", session=guard) == 302
        assert status(site, f"{AUTH}/account", session=session) == 200


def test_what_a_page_of_ours_changed_holds_for_the_guard_at_once(site_with):
    """The page and forward auth name the session by different cookies, and mean one entry."""
    site = site_with(**SETTINGS, guard_cache="60s")
    site.user()
    guard = value_of(sign_in(site), GUARD)
    assert site.http.get(WEB, headers={"Cookie": f"{GUARD}={guard}"}).status_int == 204
    submit(site, "/logout")
    assert status(site, WEB, guard=guard) == 401


def host_routes(config):
    config.add_route("billing", "/billing", guard="web")
    config.add_view(hello, route_name="billing")
    config.add_route("open", "/open")
    config.add_view(who, route_name="open", renderer="string")


def who(request):
    signed_in = request.authsite.signed_in
    return signed_in.user.email if signed_in else "no one"


def test_the_routes_of_a_host_application_take_the_guard_cookie(host_with):
    host = host_with(host_routes, prefix="auth", **HTTP)
    host.user()
    form = host.http.get("/auth/login").forms[0]
    form["username"], form["password"] = "ann@example.com", PASSWORD
    answer = form.submit(status=303)
    session, guard = (value_of(answer, name) for name in ("authsite", "authsite-guard"))
    for headers, billing, account, shown in (
        ({"Cookie": f"authsite-guard={guard}"}, 200, 302, "ann@example.com"),
        ({"Cookie": f"authsite={session}"}, 302, 200, "no one"),
        ({"Cookie": f"authsite={guard}"}, 302, 302, "no one"),
        ({"Cookie": f"authsite-guard={session}"}, 302, 302, "no one"),
    ):
        host.http.reset()
        assert host.http.get("/billing", headers=headers, status="*").status_int == billing
        assert host.http.get("/auth/account", headers=headers, status="*").status_int == account
        assert host.http.get("/open", headers=headers).text == shown


def test_the_cookie_for_the_tests_of_a_host_opens_its_routes(host_with):
    host = host_with(host_routes, prefix="auth", **HTTP)
    host.http.set_cookie(*session_cookie(host.app, "ann@example.com"))
    assert host.http.get("/billing").text == "hello ann@example.com"
