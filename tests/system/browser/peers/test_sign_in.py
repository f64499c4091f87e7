"""One authsite signs people in with another one, in Chromium and through TLS.

The services are connected as docs/sign-in-authsite.md says.
"""

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.providers.people import identities, users
from tests.support.authorizing import application, parameters
from tests.support.peers import APPLICATION, SECOND
from tests.support.site import PASSWORD
from tests.support.visitor import Visitor

pytestmark = pytest.mark.slow


@pytest.fixture
def visitor(new_context):
    """A factory of people at the second, each with a separate browser."""
    return lambda: Visitor(new_context(), None)


def go_to_first(person, peers):
    person.page.goto(f"{SECOND}/login")
    person.page.get_by_role("button", name="Continue with People").click()
    person.page.wait_for_url(re.compile(re.escape(peers.first.origin)))


def sign_in_there(person, email, *, allows=True):
    person.page.locator("[name=username]").fill(email)
    person.page.locator("[name=password]").fill(PASSWORD)
    person.page.locator("form[action$='/login'] button.primary").click()
    if allows:
        allow(person)


def allow(person):
    person.page.locator("button[value=allow]").click()


def test_a_confirmed_address_arrives_as_verified_and_the_sub_is_the_key(visitor, peers):
    ann = peers.first.site.user("ann@example.com", confirmed=True)
    person, again = visitor(), visitor()
    go_to_first(person, peers)
    sign_in_there(person, ann.email)
    person.sees("Create account")  # no mail has to prove the address
    person.send("/login/with/people/create")
    person.at("/account")
    person.sees(ann.email)
    [made] = [each for each in users(peers.second.site) if each.email == ann.email]
    assert made.email_verified_at is not None
    [identity] = [each for each in identities(peers.second.site) if each.user_id == made.id]
    assert (identity.issuer, identity.subject) == (peers.first.origin, str(ann.id))
    assert identity.trusted

    peers.first.commands().run("user", "set-email", ann.email, "moved@example.com", "--confirmed")
    go_to_first(again, peers)
    sign_in_there(again, "moved@example.com", allows=False)  # it was allowed once
    again.at("/account")
    again.sees(ann.email)
    assert len([each for each in users(peers.second.site) if "moved" in each.email]) == 0


def test_an_address_that_is_not_confirmed_is_not_told(visitor, peers):
    """The first asks for the confirmation; a client that does not need it gets no address."""
    bob = peers.first.site.user("bob@example.com")
    person = visitor()
    go_to_first(person, peers)
    sign_in_there(person, bob.email, allows=False)
    person.page.get_by_role("heading", name="Confirm your").wait_for()
    assert person.page.url.startswith(peers.first.origin)

    client_id = peers.client["client_id"]
    change = peers.first.commands().run
    change("client", "update", client_id, "--require-confirmed", "off")
    try:
        go_to_first(person, peers)
        allow(person)
        person.page.wait_for_url(re.compile(f"{SECOND}/login/with/people/account"))
        assert person.page.locator("form[action$='/address'] [name=email]").input_value() == ""
    finally:
        change("client", "update", client_id, "--require-confirmed", "on")
    assert bob.email not in {each.email for each in users(peers.second.site)}


def test_an_account_of_the_second_is_not_joined_without_its_password(visitor, peers):
    for peer in (peers.first, peers.second):
        peer.site.user("owner@example.com", confirmed=True)
    person = visitor()
    go_to_first(person, peers)
    sign_in_there(person, "owner@example.com")
    person.sees("You have an account already")
    assert not person.opens_account()


def test_the_sessions_end_apart(visitor, peers):
    eve = peers.first.site.user("eve@example.com", confirmed=True)
    person = visitor()
    go_to_first(person, peers)
    sign_in_there(person, eve.email)
    person.send("/login/with/people/create")
    person.at("/account")
    person.send("/logout")
    assert not person.opens_account()
    person.page.goto(f"{SECOND}/login")
    person.page.get_by_role("button", name="Continue with People").click()
    person.at("/account")  # no page of the first was shown

    person.page.goto(f"{peers.first.origin}/account")
    person.page.locator("form[action$='/logout'] button").first.click()
    person.page.wait_for_url(f"{peers.first.origin}/")
    assert person.opens_account()


def start(person, app, **changed):
    person.page.goto(f"{SECOND}/oauth/authorize?{urlencode(parameters(app, **changed))}")


def test_an_application_of_the_second_sends_its_users_to_the_first(visitor, peers):
    """Two requests at once, in two tabs; one is canceled first."""
    cyd = peers.first.site.user("cyd@example.com", confirmed=True)
    uri = f"{APPLICATION}/"
    app = application(peers.second.site, redirect_uris=[uri], first_party=True)
    person = visitor()
    first, other = person.page, person.page.context.new_page()
    asked = {"provider": "people", "login_hint": cyd.email}
    for page, state in ((first, "one"), (other, "two")):
        person.page = page
        start(person, app, state=state, **asked)
        page.get_by_role("button", name="Continue with People").click()
        page.wait_for_url(re.compile(re.escape(peers.first.origin)))
        assert page.locator("[name=username]").input_value() == cyd.email
    person.page = other
    sign_in_there(person, cyd.email, allows=False)
    other.locator("button[value=deny]").click()
    other.get_by_role("link", name="Try again with People").click()
    other.get_by_role("button", name="Continue with People").click()
    allow(person)
    person.sees("Create account")
    person.send("/login/with/people/create")
    other.wait_for_url(f"{uri}?**")
    assert answer(other)["state"] == "two"

    person.page = first
    first.reload()  # the person is signed in there by now
    first.wait_for_url(f"{uri}?**")
    assert answer(first)["state"] == "one"
    assert answer(first)["code"] != answer(other)["code"]
    assert answer(first)["iss"] == SECOND


def answer(page):
    return {name: value for name, [value] in parse_qs(urlsplit(page.url).query).items()}
