"""authsite-client in the example of ``examples/sign-in``, in Chromium and behind TLS."""

import sys

import pytest

from tests.support.home import CHECKOUT

APP = CHECKOUT / "examples/sign-in/app.py"


@pytest.fixture(scope="module")
def url(place):
    party = place.relying_party("example")
    url = party.url
    made = place.client(f"{url}/signed-in", post_logout_redirect_uri=f"{url}/")
    variables = {
        "AUTH_URL": place.issuer,
        "AUTH_CLIENT_ID": made["client_id"],
        "AUTH_CLIENT_SECRET": made["client_secret"],
        "HOME_URL": url,
        "PORT": str(party.port),
        "PYTHONPATH": str(CHECKOUT / "clients/python"),
    }
    with party.running([sys.executable, APP], **variables):
        yield url


def test_a_person_signs_in_and_out(url, person):
    ann = person()
    ann.enter(f"{url}/sign-in?next=/?orders", f"{url}/")
    assert ann.page.locator("#user").inner_text() == ann.id

    ann.page.get_by_role("button", name="Sign out").click()
    ann.at(f"{url}/")
    ann.page.get_by_role("link", name="Sign in").wait_for()
    assert not ann.is_signed_in()


def test_a_person_who_says_no_may_try_again(url, person):
    ann = person()
    ann.page.goto(f"{url}/sign-in")
    ann.sign_in()
    ann.deny()
    ann.page.get_by_text("You are not signed in").wait_for()
    ann.page.get_by_role("link", name="Sign in").click()
    ann.allow()
    ann.at(f"{url}/")
