"""An application that includes authsite under a prefix, behind the same nginx."""

from uuid import uuid4

import pytest

from tests.support.shop import PREFIX
from tests.support.site import PASSWORD, bearer
from tests.support.visitor import Mailbox, Visitor
from tests.support.world import SHOP
from tests.system.browser.people import SECOND

pytestmark = pytest.mark.slow


@pytest.fixture
def shopper(new_context, world, watch):
    mailbox = Mailbox(watch, world.shop_mailbox, SHOP)
    return Visitor(new_context(SHOP, statuses=(400, 422)), mailbox, SHOP, f"/{PREFIX}")


def test_a_page_of_the_host_is_reached_by_way_of_our_pages(shopper):
    """Trial 2: links in mails had no prefix and led to 404."""
    email = f"bo-{uuid4().hex[:12]}@example.com"
    shopper.page.goto(f"https://{SHOP}/orders")
    shopper.at("/login")
    shopper.go("/register")
    shopper.send("/register", email=email, password=PASSWORD)
    shopper.page.goto(shopper.mailbox.link(email, f"/{PREFIX}/email/verify/"))
    shopper.send("/email/verify")
    shopper.at("/account")  # the browser that registered is signed in
    shopper.page.goto(f"https://{SHOP}/orders")
    shopper.page.wait_for_url(f"https://{SHOP}/orders")
    shopper.sees(f"Orders of {email}")
    shopper.go("/account")
    assert shopper.page.locator(".badge.waiting").count() == 0
    shopper.send("/account/profile", name="Bo")
    shopper.at("/account")
    shopper.send("/logout")
    shopper.at("/")
    shopper.go("/password/forgot")
    shopper.send("/password/forgot", email=email)
    shopper.page.goto(shopper.mailbox.link(email, f"/{PREFIX}/password/reset/"))
    shopper.send("/password/reset", password=SECOND)
    shopper.at("/password/reset")
    shopper.page.goto(f"https://{SHOP}/orders")
    shopper.sign_in(email, SECOND)
    shopper.page.wait_for_url(f"https://{SHOP}/orders")


def test_the_bundled_client_calls_the_api_of_the_host(world, shopper):
    email = world.register(host=SHOP, prefix=f"/{PREFIX}")
    shopper.go("/app")
    page = shopper.page
    page.locator("#login [name=username]").fill(email)
    page.locator("#login [name=password]").fill(PASSWORD)
    page.locator("#login button.primary").click()
    page.locator("#account").get_by_text(email).wait_for()
    page.locator("#call [name=path]").fill("/api/orders")
    page.locator("#call button").click()
    page.locator("#answer", has_text=email).wait_for()
    [cookie] = [each for each in page.context.cookies() if each["name"] == "refreshToken"]
    assert cookie["path"] == f"/{PREFIX}/v1/clients/web"
    page.reload()
    page.locator("#account").get_by_text(email).wait_for()


def test_our_page_is_taken_for_a_mailed_link_and_no_other(world, watch):
    """Trial 2: the real page, with the prefix, was refused."""
    email = world.register(host=SHOP, prefix=f"/{PREFIX}")
    with world.client(SHOP) as http:
        for path, status in ((f"/{PREFIX}/password/reset", 202), ("/password/reset", 422)):
            asked = {"email": email, "reset_url": f"https://{SHOP}{path}"}
            answer = http.post(f"/{PREFIX}/v1/password/forgot", json=asked)
            assert answer.status_code == status, answer.text
        token = http.post(
            f"/{PREFIX}/v1/clients/web/login", json={"username": email, "password": PASSWORD}
        ).json()["access_token"]
        assert http.get("/api/orders", headers=bearer(token)).json() == {"email": email}
        assert http.get("/api/orders").status_code == 401
        for accept, status in (("text/html", 302), ("*/*", 401)):
            headers = bearer(token) | {"Accept": accept}
            assert http.get("/orders", headers=headers).status_code == status
