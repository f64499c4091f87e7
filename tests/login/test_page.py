"""The login page and the web session behind it."""

import re
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from authsite.oauth.models import ClientUri
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users import service as users
from tests.support.acting import acting
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, bearer

# The defaults of the settings.
IDLE_TIMEOUT, ABSOLUTE_TIMEOUT = timedelta(hours=12), timedelta(days=30)
REMEMBERED_TIMEOUT = timedelta(days=90)


def sessions(site):
    with site.db() as db:
        return db.scalars(select(BrowserSession)).all()


def test_a_login_leads_to_the_account_and_shows_the_user(site):
    site.user()
    answer = sign_in(site)
    assert answer.location == "http://localhost/account"
    assert "ann@example.com" in site.http.get("/account", status=200).text


@pytest.mark.parametrize("factors", ["totp", "totp passkey"])
def test_no_keyboard_changes_the_name_that_is_typed(site_with, factors):
    page = site_with(login_identifiers="email username", factors=factors).http.get("/login")
    field = page.html.find("input", {"name": "username"})
    wanted = {"autocapitalize": "none", "autocorrect": "off", "spellcheck": "false"}
    assert {name: field.get(name) for name in wanted} == wanted


def test_a_login_goes_back_to_the_page_that_required_it(site):
    site.user()
    guarded = site.http.get("/account?x=1", status=302)
    assert guarded.location == "http://localhost/login?next=/account%3Fx%3D1"
    page = site.http.get(guarded.location)
    form = page.forms[0]
    form["username"], form["password"] = "ann@example.com", PASSWORD
    assert form.submit().location == "http://localhost/account?x=1"


def test_a_wrong_login_is_422_keeps_the_name_and_never_the_password(site):
    site.user()
    answer = submit(site, "/login", username="ann@example.com", password="wrong 123 wrong")
    assert answer.status_int == 422
    assert 'value="ann@example.com"' in answer.text
    assert "wrong 123 wrong" not in answer.text
    assert site.events()[-1] == "login.failed"
    assert sessions(site) == []


@pytest.mark.control("L01")
def test_unknown_wrong_and_disabled_logins_answer_alike(site):
    site.user()
    site.user("off@example.com")
    with site.db() as db:
        users.disable(acting(db), users.find(db, "off@example.com"))
    bodies = set()
    for name, password in (
        ("ann@example.com", "wrong wrong wrong"),
        ("nobody@example.com", PASSWORD),
        ("off@example.com", PASSWORD),
    ):
        answer = submit(site, "/login", username=name, password=password)
        text = re.sub(r'name="csrf_token"[^>]*', "", answer.text.replace(name, "NAME"))
        bodies.add((answer.status_int, text))
    assert len(bodies) == 1


@pytest.mark.control("S01")
def test_a_login_gives_a_new_id_and_the_old_one_is_worthless(site):
    site.user()
    site.http.set_cookie("authsite", "chosen-by-an-attacker")
    sign_in(site)
    assert site.http.cookies["authsite"] != "chosen-by-an-attacker"
    first = site.http.cookies["authsite"]
    site.http.reset()
    sign_in(site)
    assert site.http.cookies["authsite"] != first
    site.http.reset()
    site.http.set_cookie("authsite", first)
    site.http.get("/account", status=200)
    submit(site, "/logout")
    site.http.reset()
    site.http.set_cookie("authsite", first)
    site.http.get("/account", status=302)


@pytest.mark.control("S01")
def test_the_csrf_token_is_another_one_after_login(site):
    site.user()
    before = csrf_of(site.http.get("/login"))
    sign_in(site)
    assert csrf_of(site.http.get("/account")) != before
    stale = site.http.post("/logout", {"csrf_token": before}, status=403)
    assert stale.status_int == 403
    site.http.get("/account", status=200)


@pytest.mark.control("S02")
def test_cookies_are_host_bound_and_hidden_from_scripts(site_with):
    site = site_with(base_url="https://id.example.org")
    site.user()
    answer = sign_in(site, remember="1")
    cookies = {c.split("=")[0]: c for c in answer.headers.getall("Set-Cookie")}
    session = cookies["__Host-authsite"]
    assert "; secure" in session.lower()
    assert "; HttpOnly" in session
    assert "; Path=/" in session
    assert "SameSite=Lax" in session
    assert "domain" not in session.lower()
    assert f"Max-Age={int(REMEMBERED_TIMEOUT.total_seconds())}" in session


@pytest.mark.control("S02")
def test_a_shared_cookie_names_its_domain_and_on_http_the_name_is_plain(site_with):
    shared = site_with(base_url="https://id.example.org", session_cookie_domain="example.org")
    shared.user()
    names = [c.split("=")[0] for c in sign_in(shared).headers.getall("Set-Cookie")]
    assert {"__Host-authsite", "__Secure-authsite-guard"} <= set(names)
    plain = site_with()
    plain.user()
    cookies = sign_in(plain).headers.getall("Set-Cookie")
    assert any(c.startswith("authsite=") and "secure" not in c.lower() for c in cookies)


@pytest.mark.control("T02")
def test_the_database_holds_only_the_hash_of_a_session_id(site):
    site.user()
    sign_in(site)
    key = site.http.cookies["authsite"]
    [row] = sessions(site)
    assert key not in str(vars(row))


@pytest.mark.control("S03")
@pytest.mark.parametrize(
    ("remember", "idle_for", "status"),
    [
        (None, IDLE_TIMEOUT - timedelta(minutes=1), 200),
        (None, IDLE_TIMEOUT + timedelta(minutes=1), 302),
        ("1", IDLE_TIMEOUT * 3, 200),
        ("1", REMEMBERED_TIMEOUT + timedelta(minutes=1), 302),
    ],
)
def test_a_session_ends_after_its_idle_time(site, frozen, remember, idle_for, status):
    site.user()
    sign_in(site, **({"remember": remember} if remember else {}))
    frozen.advance(idle_for.total_seconds())
    site.http.get("/account", status=status)


@pytest.mark.control("S03")
def test_a_session_in_use_ends_after_its_absolute_time(site, frozen):
    site.user()
    sign_in(site)
    step = timedelta(hours=11)
    for _ in range(ABSOLUTE_TIMEOUT // step):
        frozen.advance(step.total_seconds())
        site.http.get("/account", status=200)
    frozen.advance(step.total_seconds())
    site.http.get("/account", status=302)


@pytest.mark.control("T19")
@pytest.mark.parametrize("act", [users.disable, users.sign_out])
def test_disabling_and_signing_out_a_user_end_the_session_at_once(site, act):
    site.user()
    sign_in(site)
    with site.db() as db:
        act(acting(db), users.find(db, "ann@example.com"))
    site.http.get("/account", status=302)


@pytest.mark.control("S16")
def test_accept_does_not_turn_one_guard_into_the_other(site):
    for accept in ("application/json", "text/html", "*/*"):
        answer = site.http.get("/v1/user", headers={"Accept": accept}, status=401)
        assert answer.content_type == "application/json"
    assert site.http.get("/account", headers={"Accept": "text/html"}, status=302).location
    for accept in ("application/json", "*/*"):
        answer = site.http.get("/account", headers={"Accept": accept}, status=401)
        assert answer.json["errors"] == []


def test_a_cookie_opens_no_api_route_and_a_token_no_page(site):
    keys = site.client()
    site.user()
    token = site.login(keys)["access_token"]
    site.http.get("/account", headers=bearer(token), status=302)
    sign_in(site)
    site.http.get("/v1/user", status=401)


@pytest.mark.parametrize(
    ("setting", "location"),
    [
        ("login", "/login"),
        ("docs", "/docs"),
        ("/docs", "/docs"),
        ("http://localhost/sso", "/sso"),
    ],
)
def test_login_page_url_names_a_view_a_path_or_an_address(site_with, setting, location):
    site = site_with(login_page_url=setting)
    given = site.http.get("/account", status=302).headers["Location"]
    glue = "&" if "?" in location else "?"
    assert given.removeprefix("http://localhost") == f"{location}{glue}next=/account"


def test_a_login_page_on_another_origin_gets_next_as_our_absolute_url(site_with):
    """Trial 13: a path would mean a page of the other host."""
    site = site_with(login_page_url="https://sso.example.org/in?a=b")
    given = site.http.get("/account?x=1", status=302).headers["Location"]
    own = "http%3A//localhost/account%3Fx%3D1"
    assert given == f"https://sso.example.org/in?a=b&next={own}"


@pytest.mark.control("S16")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Accept": "application/json, text/plain, */*"}, 401),
        ({"Accept": "*/*", "X-Requested-With": "XMLHttpRequest"}, 401),
        # Without Sec-Fetch-Dest, Accept alone decides.
        ({"X-Requested-With": "XMLHttpRequest"}, 302),
        ({"Accept": "*/*", "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors"}, 401),
        ({"Accept": "*/*"}, 401),
        ({}, 302),
        ({"X-Requested-With": "com.example.browser"}, 302),  # the name of an app: Android WebView
        ({"X-Requested-With": "App"}, 302),
        ({"Accept": "", "X-Requested-With": "XMLHttpRequest"}, 302),
        ({"Sec-Fetch-Dest": "document"}, 302),
        ({"Sec-Fetch-Dest": "image"}, 401),
        (
            {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Sec-Fetch-Dest": "document"},
            302,
        ),
        # A library that puts HTML of the answer into the page follows to the login form.
        ({"Accept": "text/html", "X-Requested-With": "XMLHttpRequest"}, 302),
        ({"Accept": "text/html, application/json"}, 302),
    ],
)
def test_an_unauthenticated_script_gets_401_and_a_browser_the_login_page(site, headers, status):
    """Trial 27: a fetch cannot use the login page."""
    answer = site.http.get("/account", headers=headers, status=status)
    assert (answer.content_type == "application/json") == (status == 401)


def test_logging_out_ends_the_row_and_takes_the_cookie(site):
    site.user()
    sign_in(site)
    answer = submit(site, "/logout", page="/account")
    assert answer.location == "http://localhost/?done=signed-out"
    assert sessions(site) == []
    assert "You are signed out" in site.http.get(answer.location).text
    site.http.get("/account", status=302)


def test_the_address_of_signing_out_shows_a_button_first(site):
    site.user()
    sign_in(site)
    page = site.http.get("/logout", status=200)
    assert "ann@example.com" in page.text
    assert len(sessions(site)) == 1
    button = next(form for form in page.forms.values() if form.action == "/logout")
    assert button.submit().location == "http://localhost/?done=signed-out"
    assert sessions(site) == []
    assert "You are signed out" in site.http.get("/logout", status=200).text


def test_a_button_to_sign_out_that_is_too_old_is_shown_again(site):
    site.user()
    sign_in(site)
    page = site.http.post("/logout", {"csrf_token": "0" * 64}, status=403)
    assert "open for too long" in page.text
    assert len(sessions(site)) == 1
    page.forms[0].submit(status=303)
    assert sessions(site) == []


@pytest.mark.parametrize(
    "onward", ["https://app.example.org/bye?x=1", "https://spa.example/", "/docs"], ids=str
)
def test_signing_out_leads_back_to_the_application(site_with, onward):
    """To an origin in `return-origins`, to a registered one, and to a page here."""
    site = site_with(return_origins="https://app.example.org")
    keys = site.client("browser")
    with site.db() as db:
        uri = ClientUri(
            id=uuid4(),
            client_id=UUID(keys.client_id),
            kind="origin",
            uri="https://spa.example",
            position=0,
        )
        db.add(uri)
    site.user()
    sign_in(site)
    page = site.http.get("/logout", {"next": onward}, status=200)
    assert len(sessions(site)) == 1  # opening it changes nothing
    button = next(form for form in page.forms.values() if "next" in form.fields)
    answer = button.submit()
    assert sessions(site) == []
    if onward.startswith("/"):
        assert answer.location == f"http://localhost{onward}"
    else:
        assert answer.status_int == 200  # browsers apply form-action to redirects after a form
        assert "You are signed out" in answer.text
        assert answer.html.select_one("a.primary")["href"] == onward
    again = site.http.get("/logout", {"next": onward}, status=200)
    assert again.html.select_one("a.primary")["href"] == onward


@pytest.mark.parametrize(
    "onward",
    [
        "https://evil.example/",
        "https://app.example.org@evil.example/",
        "https://app.example.org.evil.example/",
        "http://app.example.org/",
        "//evil.example/",
        "javascript:alert(1)",
        "https://app.example.org/\\evil",
    ],
)
def test_signing_out_leads_nowhere_else(site_with, onward):
    site = site_with(return_origins="https://app.example.org")
    site.user()
    sign_in(site)
    page = site.http.get("/logout", {"next": onward}, status=200)
    assert not page.html.select('input[name="next"]')
    assert page.html.find("a", string="Stay signed in")["href"] == "/account"
    token = csrf_of(page)
    answer = site.http.post("/logout", {"csrf_token": token, "next": onward}, status=303)
    assert answer.location == "http://localhost/?done=signed-out"
