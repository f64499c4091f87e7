"""The page /app, which shows how to use the client."""

import pytest

from tests.support.site import PASSWORD
from tests.system.browser.web import USERS, newest, revoke, until

pytestmark = pytest.mark.slow


@pytest.fixture
def app(tabs):
    """A tab at /app, with everything it complained about in ``complaints``."""
    page = tabs.context.new_page()
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(f"{tabs.origin}/app")
    yield page
    refused = "Failed to load resource: the server responded with a status of 4"
    assert not [each for each in page.complaints if not each.startswith(refused)]


def sign_in(page, password=PASSWORD):
    page.get_by_label("E-mail address").fill(USERS[0])
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_a_user_signs_in_is_known_after_a_reload_calls_the_api_and_signs_out(app, strict):
    sign_in(app, "not this one")
    app.get_by_role("alert").get_by_text("The e-mail address or password is incorrect.").wait_for()
    sign_in(app)
    app.get_by_role("heading", name=f"Signed in as {USERS[0]}").wait_for()
    assert app.get_by_role("alert").inner_text() == ""
    app.reload()
    app.get_by_role("heading", name=f"Signed in as {USERS[0]}").wait_for()
    app.get_by_role("button", name="GET").click()
    app.get_by_role("status").get_by_text(USERS[0]).wait_for()
    app.get_by_label("Call the API").fill("https://evil.example/")
    app.get_by_role("button", name="GET").click()
    app.get_by_role("alert").get_by_text("The access token is sent to this site only.").wait_for()
    app.get_by_role("button", name="Sign out").click()
    app.get_by_role("heading", name="Sign in").wait_for()
    assert newest(strict[1]).revoked_why == "logout"


def test_an_ended_session_leads_back_to_the_form_and_says_why(app, strict):
    sign_in(app)
    app.get_by_role("heading", name=f"Signed in as {USERS[0]}").wait_for()
    revoke(strict[1])
    app.get_by_role("button", name="GET").click()
    app.get_by_role("alert").get_by_text("Your session has ended. Sign in again.").wait_for()
    app.get_by_role("heading", name="Sign in").wait_for()


def test_a_session_that_ends_while_the_page_is_filled_is_said_to_have_ended(app, strict):
    def revoke_first(route):
        revoke(strict[1])
        route.continue_()

    app.context.route("**/v1/user", revoke_first)
    sign_in(app)
    app.get_by_role("alert").get_by_text("Your session has ended. Sign in again.").wait_for()
    app.get_by_role("heading", name="Sign in").wait_for()


def test_while_the_service_is_away_the_page_says_so_and_offers_another_try(app):
    sign_in(app)
    app.get_by_role("button", name="GET").wait_for()
    app.context.route("**/refresh", lambda route: route.fulfill(status=503, json={}))
    app.reload()
    app.get_by_role("button", name="Try again").wait_for()
    assert app.get_by_role("alert").inner_text()
    app.context.unroute("**/refresh")
    app.get_by_role("button", name="Try again").click()
    app.get_by_role("heading", name=f"Signed in as {USERS[0]}").wait_for()
    until(app, "document.activeElement.id === 'greeting'")
    app.complaints.clear()  # the 503 that was asked for


def test_without_the_script_no_form_shows_and_none_could_put_a_password_into_an_address(
    new_context, strict
):
    page = new_context(java_script_enabled=False).new_page()
    page.goto(f"{strict[0]}/app")
    assert not page.get_by_label("Password").is_visible()
    assert {form.get_attribute("method") for form in page.locator("form").all()} == {"post"}
