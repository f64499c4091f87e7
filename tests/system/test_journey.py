"""From registering to deleting the account, in Chromium and through TLS."""

from uuid import uuid4

import pytest

from tests.support import browsers
from tests.support.site import PASSWORD
from tests.support.world import AUTH, PARTNER
from tests.system.browser.people import SECOND, THIRD

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program():
    """In a whole run the whole Chromium, as people have it."""
    return browsers.AS_PEOPLE_HAVE_IT


def new_address():
    return f"ann-{uuid4().hex[:12]}@example.com"


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_the_whole_journey(visitor, script):
    """Attack H6, trial 1: each form ended with a redirect to http, which Chromium blocked."""
    email, moved = new_address(), new_address()
    ann, other = (visitor(java_script_enabled=script) for _ in range(2))

    assert ann.go("/").status == 200
    ann.go("/register")
    ann.send("/register", email=email, password=PASSWORD)
    ann.page.goto(ann.mailbox.link(email, "/email/verify/"))
    ann.send("/email/verify")
    ann.at("/account")  # the browser that registered is signed in
    ann.sees(email)
    ann.send("/logout")

    ann.go("/account")
    ann.at("/login")
    ann.sign_in(email, PASSWORD)
    ann.at("/account")
    other.go("/login")
    other.sign_in(email, PASSWORD)
    other.at("/account")

    ann.send("/account/profile", name="Ann Lee")
    ann.at("/account")
    assert ann.page.locator("[action$='/account/profile'] [name=name]").input_value() == "Ann Lee"
    ann.go("/account/security")
    ann.send("/account/password", current_password=PASSWORD, password=SECOND)
    ann.at("/account/security")
    assert not other.opens_account()

    ann.go("/account")
    ann.send("/account/email", email=moved, current_password=SECOND)
    ann.at("/account")
    ann.page.goto(ann.mailbox.link(moved, "/email/verify/"))
    ann.send("/email/verify")
    ann.at("/email/verify")
    assert ann.opens_account()
    ann.sees(moved)

    other.go("/password/forgot")
    other.send("/password/forgot", email=moved)
    other.at("/password/forgot")
    other.page.goto(other.mailbox.link(moved, "/password/reset/"))
    other.send("/password/reset", password=THIRD)
    other.at("/password/reset")
    assert not ann.opens_account()

    assert ann.sign_in(moved, SECOND).status == 422
    ann.sign_in(moved, THIRD)
    ann.at("/account")
    ann.send("/logout")
    ann.at("/")
    assert not ann.opens_account()
    ann.sign_in(moved, THIRD)
    ann.at("/account")
    ann.send("/account/delete", current_password=THIRD)
    ann.at("/")
    ann.go("/login")
    assert ann.sign_in(moved, THIRD).status == 422


def test_next_leads_to_the_page_that_was_asked_for(world, visitor):
    ann = visitor()
    ann.go("/account?from=a%20link")
    ann.at("/login")
    ann.sign_in(world.register(), PASSWORD)
    ann.at("/account")
    assert ann.page.url == f"https://{AUTH}/account?from=a%20link"


def test_next_may_be_at_a_listed_origin(world, visitor):
    """Pages B1, trial 3, attack H6: Chromium blocked the redirect after the form."""
    ann = visitor(AUTH, PARTNER)
    ann.go(f"/login?next=https://{PARTNER}/%3Fpage=7")
    ann.sign_in(world.register(), PASSWORD)
    ann.page.wait_for_url(f"https://{PARTNER}/?page=7")
    assert ann.opens_account()
    ann.go(f"/login?next=https://{PARTNER}/")  # signed in already
    ann.page.wait_for_url(f"https://{PARTNER}/")


def test_next_is_carried_over_registering_and_resetting(world, visitor):
    """Pages M5: it was lost at the links to the other forms."""
    email = new_address()
    ann = visitor()
    ann.go("/account?kept=1")
    ann.page.locator("main a[href*='/register']").first.click()
    ann.at("/register")
    ann.send("/register", email=email, password=PASSWORD)
    ann.page.locator("main a[href*='/login']").first.click()
    ann.sign_in(email, PASSWORD)
    ann.at("/account")
    assert ann.page.url == f"https://{AUTH}/account?kept=1"


def test_a_form_after_the_session_ended_leads_back_to_its_page(world, visitor):
    """Pages M1: it ended with 405."""
    email = world.register()
    ann = visitor()
    ann.go("/login")
    ann.sign_in(email, PASSWORD)
    ann.at("/account")
    ann.page.context.clear_cookies(name="__Host-authsite")
    ann.send("/account/profile", name="Ann Lee")
    ann.at("/login")
    ann.sign_in(email, PASSWORD)
    ann.at("/account")
    assert ann.go("/account/profile").status == 200
    ann.at("/account")


def test_a_dead_reset_link_is_refused_when_it_is_opened(world, visitor):
    """Pages M6: its form looked alive until it was sent."""
    email = world.register()
    ann = visitor()
    ann.go("/password/forgot")
    ann.send("/password/forgot", email=email)
    link = ann.mailbox.link(email, "/password/reset/")
    ann.page.goto(link)
    ann.send("/password/reset", password=SECOND)
    ann.page.goto(link)
    assert ann.page.locator("input[type=password]").count() == 0


def test_password_managers_find_the_form(world, visitor):
    """Pages m22."""
    ann = visitor()
    ann.go("/login")
    ann.sign_in(world.register(), PASSWORD)
    ann.at("/account")
    ann.go("/.well-known/change-password")
    assert ann.page.url == f"https://{AUTH}/account/security#password"


def test_a_change_of_address_says_what_it_ends_and_leads_to_the_prefilled_login(world, visitor):
    """Pages M2: the browser was signed out, and no page said so."""
    email, moved = world.register(), new_address()
    ann, mailbox = visitor(), visitor()
    ann.go("/login")
    ann.sign_in(email, PASSWORD)
    ann.at("/account")
    ann.send("/account/email", email=moved, current_password=PASSWORD)
    ann.at("/account")
    ann.sees(f"Almost done: open the link that we sent to {moved}, and confirm the address there")
    mailbox.page.goto(ann.mailbox.link(moved, "/email/verify/"))  # in another browser
    mailbox.at("/login")  # only the user completes it, signed in with the present address
    mailbox.sign_in(email, PASSWORD)
    mailbox.at("/email/verify")
    mailbox.send("/email/verify")
    mailbox.page.wait_for_load_state()
    assert not ann.opens_account()
    assert mailbox.opens_account()
    ann.go("/login")
    ann.sign_in(moved, PASSWORD)
    ann.at("/account")


def end_it(ann, email):
    """Press the button of the link "This was not me"."""
    ann.page.goto(ann.mailbox.link(email, "/login/not-me/"))
    assert ann.page.url == f"https://{AUTH}/login/not-me"
    ann.send("/login/not-me")
    ann.sees("All sign‑ins have ended. Choose a new password")


def test_this_was_not_me_ends_with_a_new_password_and_one_mail(world, visitor):
    """Pages M3: it led to an empty form, and to a second mail and link."""
    email = new_address()
    ann = visitor()
    ann.go("/register")
    ann.send("/register", email=email, password=PASSWORD)
    ann.page.goto(ann.mailbox.link(email, "/email/verify/"))
    ann.send("/email/verify")
    ann.at("/account")
    with world.client() as intruder:
        who = {"username": email, "password": PASSWORD}
        tokens = intruder.post("/v1/clients/web/login", json=who).json()
        headers = {"Authorization": f"Bearer {tokens['access_token']}"}
        assert intruder.get("/v1/user", headers=headers).status_code == 200
        end_it(ann, email)
        assert intruder.get("/v1/user", headers=headers).status_code == 401
        assert intruder.post("/v1/clients/web/login", json=who).status_code == 400
    assert ann.send("/login/not-me/password", password="password").status == 422
    ann.send("/login/not-me/password", password=SECOND)
    ann.sees("Your password has been changed")
    ann.page.locator("main a[href*='/login']").first.click()
    ann.at("/login")
    assert ann.page.locator("[name=username]").input_value() == email
    ann.sign_in(email, SECOND)
    ann.at("/account")
