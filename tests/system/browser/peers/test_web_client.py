"""The web client signs in at the pages of authsite: a page on another site, behind TLS.

The page is at ``https://app.partner.test`` and has a strict policy; the service is at
``https://localhost``.
"""

import re
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest

from authsite.oauth.models import ORIGIN, POST_LOGOUT, ClientUri
from tests.support.authorizing import application
from tests.support.peers import APPLICATION, SECOND
from tests.support.site import PASSWORD
from tests.system.browser.web import START, until

pytestmark = pytest.mark.slow

PAGE = f"{APPLICATION}/"


@pytest.fixture(scope="module")
def app(peers):
    """A client of type `browser`, of the operator's own."""
    site = peers.first.site
    made = application(site, "browser", redirect_uris=[PAGE], first_party=True)
    with site.db() as db:
        for kind, uri in ((ORIGIN, APPLICATION), (POST_LOGOUT, PAGE)):
            db.add(ClientUri(id=uuid4(), client_id=made.id, kind=kind, uri=uri, position=0))
    return made


class Tab:
    """A tab with the page of the application, and the client as ``auth``."""

    def __init__(self, context, peers, app):
        self.page, self.origin = context.new_page(), peers.first.origin
        self.options = {
            "base": self.origin,
            "clientId": app.client_id,
            "scope": "openid email",
            "afterLogout": PAGE,
        }
        self.open()

    def open(self, path=""):
        self.page.goto(PAGE + path)
        self.start()

    def start(self):
        self.page.evaluate(START, ["/authsite.js", self.options])

    def does(self, call):
        """The outcome of ``auth.{call}``."""
        return self.page.evaluate(f"outcome(auth.{call})")

    def leaves(self, call):
        """Call what ends the page."""
        self.page.evaluate(f"void auth.{call}")

    def at_service(self, path="/login"):
        self.page.wait_for_url(re.compile(re.escape(self.origin + path)))

    def back(self):
        """The browser is at the page again, which starts the client."""
        self.page.wait_for_url(re.compile(re.escape(PAGE)))
        self.start()

    def sign_in(self, email):
        self.leaves("login()")
        self.at_service()
        self.page.locator("[name=username]").fill(email)
        self.page.locator("[name=password]").fill(PASSWORD)
        self.page.locator("form[action$='/login'] button.primary").click()
        self.back()
        assert self.does("restore()") is True

    def email(self):
        """The address that the service tells for the token."""
        url = f"{self.origin}/v1/oauth/userinfo"
        ask = f"auth.fetch('{url}').then((answer) => answer.ok ? answer.json() : {{}})"
        return self.page.evaluate(ask).get("email")

    def stored(self):
        return self.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")


@pytest.fixture
def person(peers):
    return peers.first.site.user(f"{uuid4().hex}@example.com", confirmed=True)


@pytest.fixture
def tab(new_context, peers, app):
    context = new_context(permissions=["local-network-access"])
    return lambda: Tab(context, peers, app)


def test_a_person_signs_in_comes_back_and_signs_out(tab, person, peers):
    ann = tab()
    assert ann.does("restore()") is False  # no redirect for who was never signed in
    assert ann.page.url == PAGE
    ann.open("?page=2")
    ann.sign_in(person.email)
    assert ann.page.url == f"{PAGE}?page=2"  # neither code nor state is left in the address
    assert ann.page.evaluate("changes") == ["login"]
    assert ann.email() == person.email
    assert not re.search(r"at_|rt_|eyJ", ann.stored())

    ann.open()  # the memory is gone: the browser goes to the service and back, without a page
    ann.leaves("restore()")
    ann.page.wait_for_url(f"{PAGE}?*code=*")
    ann.back()
    assert ann.does("restore()") is True
    assert ann.page.evaluate("changes") == ["restored"]
    assert ann.email() == person.email

    with ann.page.expect_event("load"):  # of the way back from the service
        ann.leaves("logout()")
    ann.open()
    assert ann.does("restore()") is False
    assert {each.revoked_why for each in peers.first.site.families()} >= {"revocation"}
    ann.leaves("login()")
    ann.at_service()
    ann.page.locator("[name=password]").wait_for()  # the session has ended there, too


def test_another_tab_gets_the_tokens_and_the_news(tab, person):
    first = tab()
    first.sign_in(person.email)
    second = tab()
    assert second.does("restore()") is True
    assert second.page.url == PAGE  # by the other tab, without a redirect
    assert second.email() == person.email
    expire = "(passed) => { const { now } = Date; Date.now = () => now() + passed; }"
    for each in (first, second):
        each.page.evaluate(expire, 4_000_000)
    assert first.email() == person.email  # renewed
    assert second.email() == person.email
    first.leaves("logout()")
    until(second.page, "auth.signedIn === false")
    assert second.page.evaluate("changes.at(-1)") == "logout"


def test_the_session_ends_elsewhere(tab, person, peers):
    ann = tab()
    ann.sign_in(person.email)
    out = ann.page.context.new_page()
    out.goto(f"{ann.origin}/account")
    out.locator("form[action$='/logout'] button").first.click()
    out.wait_for_url(f"{ann.origin}/")
    assert ann.does(f"fetch('{ann.origin}/v1/oauth/userinfo')") == 401
    assert ann.page.evaluate("changes.at(-1)") == "ended"
    ann.open()
    assert ann.does("restore()") is False
    assert ann.page.url == PAGE


def test_the_service_has_no_session_any_more_after_a_reload(tab, person):
    ann = tab()
    ann.sign_in(person.email)
    ann.page.context.clear_cookies()
    ann.open()
    ann.leaves("restore()")
    ann.page.wait_for_url(f"{PAGE}?*error=login_required*")
    ann.back()
    assert ann.does("restore()") is False
    assert ann.page.evaluate("changes") == ["none"]
    ann.open()
    assert ann.does("restore()") is False  # not asked again


def test_a_foreign_answer_in_the_address_signs_nobody_in(tab, person):
    """Login CSRF: a code with a state that this tab has not sent is not redeemed."""
    ann = tab()
    asked = []
    ann.page.on("request", lambda request: asked.append(request.url))
    ann.open("?code=ac_of-an-attacker&state=of-an-attacker")
    assert ann.does("restore()") is False
    assert not [url for url in asked if url.startswith(ann.origin)]


def test_the_answer_of_another_issuer_is_not_redeemed(tab, person):
    """Mix-up (RFC 9207)."""
    ann = tab()
    ann.leaves("login()")
    ann.at_service()
    query = parse_qs(urlsplit(ann.page.url).query)["next"][0]
    [state] = parse_qs(urlsplit(query).query)["state"]
    ann.open(f"?code=ac_x&state={state}&iss={SECOND}")
    assert ann.does("restore()")["code"] == "invalid_response"
    assert ann.page.evaluate("auth.signedIn") is False
    assert ann.page.url == PAGE


def test_a_refused_sign_in_says_why(tab, person, peers):
    third = application(peers.first.site, "browser", redirect_uris=[PAGE], name="Third")
    ann = tab()
    ann.options |= {"clientId": third.client_id, "scope": "openid"}
    ann.open()
    ann.leaves("login({ login_hint: 'ann@example.com', prompt: 'login' })")
    ann.at_service()
    assert ann.page.locator("[name=username]").input_value() == "ann@example.com"
    ann.page.locator("[name=username]").fill(person.email)
    ann.page.locator("[name=password]").fill(PASSWORD)
    ann.page.locator("form[action$='/login'] button.primary").click()
    ann.page.locator("button[value=deny]").click()
    ann.back()
    error = ann.does("restore()")
    assert (error["code"], error["ours"]) == ("access_denied", True)
    assert ann.page.evaluate("auth.signedIn") is False


def test_an_origin_that_is_not_registered_gets_no_tokens(tab, person, peers):
    """CORS: the page cannot read the token response; the same code may be tried again."""
    with peers.first.site.db() as db:
        origins = db.query(ClientUri).filter_by(kind=ORIGIN).all()
        kept = [(each.client_id, each.uri) for each in origins]
        for each in origins:
            db.delete(each)
    ann = tab()
    ann.page.wait_for_timeout(10_500)  # a server keeps the origins for ten seconds
    try:
        with pytest.raises(AssertionError):
            ann.sign_in(person.email)
        assert ann.does("restore()")["code"] == "network"
    finally:
        with peers.first.site.db() as db:
            for client_id, uri in kept:
                db.add(ClientUri(id=uuid4(), client_id=client_id, kind=ORIGIN, uri=uri, position=0))
