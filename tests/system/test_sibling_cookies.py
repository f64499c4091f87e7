"""A refresh cookie that a page of a sibling host has set, in a real browser (M2)."""

import pytest

from tests.support.site import PASSWORD
from tests.support.world import AUTH, EVIL
from tests.system.test_attacks import Signed, toss

pytestmark = pytest.mark.slow


@pytest.fixture
def alice(world, watch):
    return Signed(world)


@pytest.fixture(scope="module")
def mallory(world):
    return Signed(world)


@pytest.mark.control("S02")
@pytest.mark.parametrize("path", ["/v1/clients/web", "/v1/clients/web/refresh", "/v1/", "/"])
def test_a_refresh_cookie_of_a_sibling_signs_nobody_in_or_out(new_context, alice, mallory, path):
    """M2: `refreshToken` has no prefix, so a sibling can set it; it does not fit the witness."""
    context = new_context(AUTH, EVIL)
    context.add_cookies(alice.jar)
    page = context.new_page()
    page.goto(f"https://{EVIL}/")
    toss(page, f"refreshToken={mallory.cookie('refreshToken')}", path)
    for _ in range(2):
        page.goto(f"https://{AUTH}/app")
        page.locator("#account").get_by_text(alice.email).wait_for()
    [left] = [each for each in context.cookies() if each["name"] == "refreshToken"]
    assert (left["domain"], left["path"]) == (AUTH, "/v1/clients/web")


@pytest.mark.control("S02")
@pytest.mark.parametrize("value", ["of mallory", "rubbish"])
@pytest.mark.parametrize("path", ["/v1/clients/web", "/v1/clients/web/refresh"])
def test_m2_without_a_session_such_a_cookie_signs_nobody_in(
    new_context, alice, mallory, path, value
):
    """M2: the victim was signed in to the account of the attacker, and later out again for good."""
    context = new_context(AUTH, EVIL, statuses=(400,))
    page = context.new_page()
    page.goto(f"https://{EVIL}/")
    toss(
        page,
        f"refreshToken={mallory.cookie('refreshToken') if value == 'of mallory' else 'x'}",
        path,
    )
    page.goto(f"https://{AUTH}/app")
    page.locator("#login").wait_for()
    assert [each for each in context.cookies() if each["name"] == "refreshToken"] == []
    page.locator("#login [name=username]").fill(alice.email)
    page.locator("#login [name=password]").fill(PASSWORD)
    page.locator("#login button.primary").click()
    page.locator("#account").get_by_text(alice.email).wait_for()
    page.reload()
    page.locator("#account").get_by_text(alice.email).wait_for()


def test_m2_no_sibling_can_set_the_witness(new_context, alice, mallory):
    context = new_context(AUTH, EVIL, statuses=(400,))
    page = context.new_page()
    page.goto(f"https://{EVIL}/")
    name = "__Host-authsite-refresh-web"
    toss(page, f"refreshToken={mallory.cookie('refreshToken')}", "/v1/clients/web")
    toss(page, f"{name}={mallory.cookie(name)}")
    page.goto(f"https://{AUTH}/app")
    page.locator("#login").wait_for()
