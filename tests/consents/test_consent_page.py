"""The consent page: who asks, for what, the data with their values, and where the answer goes."""

from urllib.parse import urlencode

import pytest

from authsite.users.models import User
from tests.support import connected
from tests.support.asking import CALLBACK, asking
from tests.support.pages import sign_in

SETTINGS = {
    "login_identifiers": "email username phone",
    "scopes": "wiki:edit: Edit pages of the wiki\nwiki:read: Read <all> pages",
}
PROGRAMS = [
    "http://127.0.0.1:8123/callback",
    "http://[::1]/callback",
    "http://localhost/callback",
    "com.example.wiki:/callback",
    "claude://callback",
]


@pytest.fixture
def site(host_with):
    return host_with(asking, **SETTINGS)


def ann(site, *, confirmed=True, **more):
    user = site.user(confirmed=confirmed, username="ann77", phone="+4930901820", **more)
    sign_in(site)
    return user


def ask(site, client_id, scope, uri=CALLBACK):
    query = urlencode({"client": str(client_id), "scope": scope, "uri": uri})
    return site.http.get(f"/ask?{query}")


def scopes(page):
    return [next(item.stripped_strings) for item in page.html.select(".scopes > li")]


def data(page):
    return {row.dt.get_text(): row.dd.get_text() for row in page.html.select(".data > div")}


def text(page):
    return " ".join(page.html.select_one("main").get_text(" ").split())


def test_trap_5_each_datum_is_shown_with_its_value_and_each_scope_in_words(site):
    """What none of the peers has, 5: the data themselves, not only names of scopes."""
    ann(site)
    wiki = connected.application(site)
    page = ask(site, wiki, "openid profile email phone wiki:edit wiki:read other offline_access")
    assert scopes(page) == [
        "Sign you in",
        "See your username",
        "See your e-mail address",
        "See your phone number",
        "Edit pages of the wiki",
        "Read <all> pages",
        "other",
        "Keep access after you sign out",
    ]
    assert data(page) == {
        "Username": "ann77",
        "Language": "English",
        "E-mail address": "ann@example.com",
        "Phone number": "+4930901820",
    }


def test_the_words_name_what_the_user_has(site):
    user = ann(site)
    with site.db() as db:
        db.get(User, user.id).name = "Ann Lee"
    page = ask(site, connected.application(site), "openid profile")
    assert scopes(page) == ["Sign you in", "See your name and username"]
    assert data(page)["Name"] == "Ann Lee"


def test_an_address_that_is_not_confirmed_is_not_among_the_data(site):
    ann(site, confirmed=False)
    page = ask(site, connected.application(site), "openid email")
    assert data(page) == {}
    assert scopes(page) == ["Sign you in", "See your e-mail address"]


def test_who_asks_who_is_signed_in_and_where_the_answer_goes(site):
    ann(site)
    page = ask(site, connected.application(site, "Wiki <b>"), "openid")
    assert page.html.h1.get_text() == "Allow Wiki <b>?"
    assert "The application at wiki.example.net wants to sign you in" in text(page)
    assert "Your answer goes to wiki.example.net" in text(page)
    assert page.html.select_one(".sent-to strong").get_text() == "ann@example.com"
    other = page.html.select_one(".sent-to a")
    assert other["href"].startswith("/login?next=%2Fask%3Fclient")
    assert "program on this computer" not in text(page)


@pytest.mark.parametrize("uri", PROGRAMS)
def test_a_program_has_no_host(site, uri):
    ann(site)
    page = ask(site, connected.application(site), "openid", uri)
    assert "A program on this computer wants to sign you in" in text(page)
    assert "Allow it only if you have just started to sign in there" in text(page)
    assert "Your answer goes to a program on this computer" in text(page)


def test_whether_access_outlasts_the_session(site):
    ann(site)
    wiki = connected.application(site)
    assert "Its access ends when you sign out" in text(ask(site, wiki, "openid"))
    page = text(ask(site, wiki, "openid offline_access"))
    assert "Its access goes on after you sign out" in page


def test_the_form_goes_to_the_address_of_the_page(site):
    ann(site)
    form = ask(site, connected.application(site), "openid").html.select_one("main form")
    assert (form["method"], form.get("action")) == ("post", None)
    buttons = form.select("button[name=decision]")
    assert [button["value"] for button in buttons] == ["allow", "deny"]
    assert form.select_one("[name=csrf_token]")["value"]


def test_the_links_of_the_application_are_shown_if_it_has_any(site):
    ann(site)
    page = ask(site, connected.application(site), "openid")
    assert page.html.select(".foot") == []
    links = {"policy_uri": "https://wiki.example.net/p", "tos_uri": "https://wiki.example.net/t"}
    page = ask(site, connected.application(site, **links), "openid")
    shown = {link.get_text(): link["href"] for link in page.html.select(".foot a")}
    assert shown == {"Privacy policy": links["policy_uri"], "Terms of use": links["tos_uri"]}


def test_only_a_file_of_ours_is_a_logo(host_with, tmp_path):
    (tmp_path / "wiki.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    site = host_with(asking, static_folder=str(tmp_path))
    site.user(confirmed=True)
    sign_in(site)
    for logo, src in {
        "wiki.svg": "/authsite/files/wiki.svg",
        "gone.svg": None,
        "https://elsewhere.example/logo.svg": None,
    }.items():
        page = ask(site, connected.application(site, logo=logo), "openid")
        shown = page.html.select_one("main img")
        assert (shown and shown["src"]) == src


def test_select_account_leads_on_or_to_another_account(site):
    ann(site)
    page = site.http.get(f"/choose?client={connected.application(site)}")
    button = page.html.select_one("main button")
    assert button.get_text() == "Continue as ann@example.com"
    assert (button["name"], button["value"]) == ("decision", "continue")
    link = page.html.select_one("main a.button")
    assert link["href"].startswith("/login?next=%2Fchoose%3F")


@pytest.mark.parametrize(
    "uri", [f"{CALLBACK}?code=a%22b&state=x;y=1&iss=z", "com.example.wiki:/x?code=1"]
)
def test_trap_1_the_page_that_leads_on_is_no_redirect(site, uri):
    """Browsers apply ``form-action`` to each redirect after a form."""
    page = site.http.get(f"/lead?{urlencode({'uri': uri})}", status=200)
    assert page.html.select_one("meta[http-equiv=refresh]")["content"] == f"0;url={uri}"
    assert page.html.select_one("main a.button")["href"] == uri
    assert page.html.h1.get_text() == "Continue to Wiki"
    assert "form-action 'self'" in page.headers["Content-Security-Policy"]
    assert page.headers["Cache-Control"] == "no-store"
