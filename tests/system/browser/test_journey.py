"""From registering to deleting the account in variant B, in Chromium, with and without script.

`tests/system/test_journey.py` has variant A, behind nginx.
"""

import pytest

from tests.system.browser.people import EMAIL, PASSWORD, SECOND, THIRD, Person, pages_server

VARIANT_B = {"variant": "B", "require_email_confirmation": "true"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pages_server(tmp_path_factory.mktemp("journey"), **VARIANT_B) as served:
        yield served


@pytest.mark.parametrize("javascript", [True, False], ids=["script", "no script"])
def test_the_whole_journey(server, new_context, javascript):
    origin, box = server
    ann = Person(new_context(java_script_enabled=javascript), origin, box)
    other = Person(new_context(java_script_enabled=javascript), origin, box)

    ann.go("/")
    ann.go("/register")
    ann.fill(email=EMAIL, password=PASSWORD)
    ann.press("Create account")
    ann.at("/register")
    ann.sign_in()
    ann.sees("Confirm your e-mail address")
    ann.page.goto(ann.link())
    if javascript:
        assert "signature" not in ann.page.url  # it left the address bar at once
    ann.press("Confirm address")
    ann.at("/account")  # this browser has registered the account
    ann.sees(EMAIL)
    other.sign_in()
    other.at("/account")

    ann.change("Profile")
    ann.fill(name="Ann Lee")
    ann.press("Save")
    ann.at("/account")
    ann.follow("Security")
    ann.change("Password")
    form = ann.page.locator("form[action$='/account/password']")
    form.locator("[name=current_password]").fill(PASSWORD)
    form.locator("[name=password]").fill(SECOND)
    ann.press("Change password")
    ann.at("/account/security")
    other.go("/account")
    other.at("/login")

    other.go("/password/forgot")
    other.fill(email=EMAIL)
    other.press("Send the link")
    other.at("/password/forgot")
    other.page.goto(other.link())
    if javascript:
        assert other.page.url == f"{other.origin}/password/reset"
    other.fill(password=THIRD)
    other.press("Change password")
    other.at("/password/reset")
    ann.go("/account")
    ann.at("/login")

    ann.sign_in(SECOND)
    ann.sees("is incorrect")
    ann.sign_in(THIRD)
    ann.at("/account")
    ann.open("Delete account")
    form = ann.page.locator("form[action$='/account/delete']")
    form.locator("[name=current_password]").fill(THIRD)
    ann.press("Delete permanently")
    ann.at("/")
    ann.sign_in(THIRD)
    ann.sees("is incorrect")
    assert ann.troubles == []
    assert other.troubles == []
