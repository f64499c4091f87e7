"""A personal access token on the account page, in a browser without JavaScript."""

import httpx
import pytest
from playwright.sync_api import Error

from tests.support.site import bearer
from tests.system.browser.people import EMAIL, PASSWORD, Person, pages_server

SCOPES = {
    "scopes": "\n    reports:read: Read reports",
    "personal_token_scopes": "reports:read",
}


@pytest.fixture
def ann(tmp_path, new_context):
    """Ann, signed in with a browser that runs no scripts."""
    with pages_server(tmp_path, **SCOPES) as server:
        made = Person(new_context(java_script_enabled=False), *server)
        made.go("/register")
        made.fill(email=EMAIL, password=PASSWORD)
        made.press("Create account")
        made.sees("Check your e-mail")
        made.sign_in()
        made.at("/account")
        made.follow("Access tokens")
        yield made


def user(ann, token):
    return httpx.get(f"{ann.origin}/v1/user", headers=bearer(token)).status_code


def test_a_token_is_created_shown_once_and_revoked_without_scripts(ann):
    ann.open("Create a token")
    form = ann.page.locator("form[action$='/account/tokens']")
    form.locator("[name=name]").fill("nightly")
    form.get_by_label("Read reports").check()
    form.get_by_label("Valid for").select_option("7 days")
    form.locator("[name=current_password]").fill(PASSWORD)
    ann.press("Create token")
    ann.sees("it will not be shown again")
    token = ann.page.locator(".secret").inner_text()
    assert token not in ann.page.url
    assert user(ann, token) == 200

    ann.go("/")
    with pytest.raises(Error, match="ERR_CACHE_MISS"):  # it would have to send the form again
        ann.page.go_back()

    ann.page = ann.page.context.new_page()
    ann.go("/account/access")
    assert token not in ann.page.content()
    ann.sees("Scopes: reports:read")
    ann.page.locator("form[action$='/revoke'] button").click()
    ann.sees("The token has been revoked.")
    assert user(ann, token) == 401
