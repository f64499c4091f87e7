"""Consent in Chromium: the form leads to the application, whatever its origin."""

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.support import databases
from tests.support.authorizing import application, parameters
from tests.support.servers import OWN_ADDRESS, serving, write_ini
from tests.support.site import PASSWORD, Site
from tests.system.browser.people import EMAIL, Person
from tests.system.browser.web import other_site

PRIVATE = "com.example.wiki:/callback"
WIKI = "https://wiki.example.test"
LANDING = "<!doctype html><title>landed</title><link rel=icon href='data:,'>landed"


@pytest.fixture(scope="module")
def others():
    """Origins of an application elsewhere: a host, and a program on this computer."""
    with other_site("127.0.0.1") as [program]:
        yield WIKI, program


def visitor(context, served, others):
    """A person in ``context``, in which the host of the application answers."""
    answer = {"content_type": "text/html", "body": LANDING}
    context.route(f"{WIKI}/**", lambda route: route.fulfill(**answer))
    return Person(context, served[0], None, *others)


@pytest.fixture(scope="module")
def served(tmp_path_factory, others):
    """``(origin, site)``: a server that signs Ann in for applications."""
    folder = tmp_path_factory.mktemp("consent")
    url = databases.migrated(databases.new_url("sqlite", folder, "consent"))
    site = Site(url)
    site.user(EMAIL, confirmed=True)
    with serving(write_ini(folder, url), **OWN_ADDRESS) as http:
        yield str(http.base_url).rstrip("/"), site
    site.database.dispose()


@pytest.fixture(params=[True, False], ids=["script", "no script"])
def ann(request, new_context, served, others):
    person = visitor(new_context(java_script_enabled=request.param), served, others)
    sign_in(person)
    return person


def sign_in(person):
    person.go("/login")
    person.fill(username=EMAIL, password=PASSWORD)
    person.press("Sign in")
    person.at("/account")


def url_of(person, app, **changed):
    return f"{person.origin}/oauth/authorize?{urlencode(parameters(app, **changed))}"


def ask(person, app, **changed):
    person.page.goto(url_of(person, app, **changed))


def landed(person, uri):
    """The parameters with which the browser has come to the application."""
    person.page.wait_for_url(f"{uri}?**")
    assert person.page.title() == "landed"
    assert person.troubles == []
    return {name: value for name, [value] in parse_qs(urlsplit(person.page.url).query).items()}


@pytest.mark.parametrize("number", [0, 1], ids=["another host", "a program"])
def test_trap_1_allowing_leads_to_the_application(ann, served, others, number):
    """Chromium applies form-action to every hop after a form."""
    app = application(served[1], redirect_uris=[f"{others[number]}/callback"])
    ask(ann, app)
    ann.sees("Allow Wiki?")
    ann.sees(EMAIL)
    ann.press("Allow")
    answer = landed(ann, app.redirect_uri)
    assert answer["code"].startswith("ac_")
    assert answer["state"] == "st-1"
    # Not by the page: a test cannot answer in place of the target of a redirect.
    again = ann.page.context.request.get(url_of(ann, app, state="st-2"), max_redirects=0)
    if number == 0:
        assert again.status == 302
        assert again.headers["location"].startswith(f"{app.redirect_uri}?code=ac_")
    else:
        assert "A program on this computer" in again.text()  # a press each time


def test_trap_1_not_allowing_leads_there_too(ann, served, others):
    """Also with an error."""
    app = application(served[1], redirect_uris=[f"{others[0]}/callback"])
    ask(ann, app)
    ann.press("Do not allow")
    assert landed(ann, app.redirect_uri)["error"] == "access_denied"


def test_trap_1_a_private_use_scheme_has_a_button(ann, served):
    """A browser may ask before it opens a program, or need a click."""
    app = application(served[1], "native", redirect_uris=[PRIVATE])
    ask(ann, app)
    ann.press("Allow")
    ann.page.get_by_role("heading", name="Continue to Wiki").wait_for()
    link = ann.page.get_by_role("link", name="Continue to Wiki")
    assert link.get_attribute("href").startswith(f"{PRIVATE}?code=ac_")
    assert not [each for each in ann.troubles if "form-action" in each or "Refused" in each]


def test_a_login_on_the_way_comes_back_and_consent_can_be_withdrawn(new_context, served, others):
    ann = visitor(new_context(), served, others)
    app = application(served[1], redirect_uris=[f"{others[0]}/callback"], name="Hiking club")
    ask(ann, app)
    ann.fill(username=EMAIL, password=PASSWORD)
    ann.press("Sign in")
    ann.press("Allow")
    assert "code" in landed(ann, app.redirect_uri)
    ann.go("/account/security")
    row = ann.page.locator("li", has_text="Hiking club")
    row.locator("summary").click()
    # The button that opened the form is gone: the focus is where its text begins.
    ann.page.wait_for_function("document.activeElement.localName === 'form'")
    row.get_by_role("button", name="Remove access").click()
    ann.sees("Access removed")
    ask(ann, app)
    ann.sees("Allow Hiking club?")
