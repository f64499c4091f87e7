"""Passkeys in Chromium, with its virtual authenticator: the script of the pages."""

import pytest

from tests.passkeys.passkey_users import register, rows
from tests.support import databases
from tests.support.authenticator import Authenticator
from tests.support.servers import serving, write_ini
from tests.support.site import WEB, Site
from tests.support.virtual_keys import VirtualKeys


@pytest.fixture
def served(tmp_path):
    """``(origin, site)``: a server on this machine, whose user has a passkey or gets one."""
    url = databases.migrated(databases.new_url("sqlite", tmp_path, "passkeys"))
    site = Site(url, **WEB)
    site.first_party("web")
    ini = write_ini(tmp_path, url, mail_driver="file", mail_folder=tmp_path / "mail", **WEB)
    with serving(ini) as http:
        yield f"http://localhost:{http.base_url.port}", site
    site.database.dispose()


@pytest.fixture
def page(new_context):
    page = new_context().new_page()
    page.troubles = []
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.on("console", lambda said: page.troubles.append(said.text) if said.type == "error" else 0)
    yield page
    assert page.troubles == []


def test_the_button_signs_in(served, page):
    origin, site = served
    own = register(site, site.user(confirmed=True), Authenticator(synced=False))
    page.goto(f"{origin}/login?next=/account/security")
    # The request of the field waits already: it does not take the touch that is for the button.
    page.wait_for_load_state("networkidle")
    keys = VirtualKeys(page)
    keys.add(own)
    keys.answer(present=True)
    page.locator("[name=remember]:visible").check()
    page.locator("#passkey button").click()
    page.wait_for_url(f"{origin}/account/security")
    [row] = rows(site)
    assert row.used_at is not None
    assert row.sign_count == 2


def test_the_field_for_the_name_offers_them(served, page):
    origin, site = served
    own = register(site, site.user(confirmed=True), Authenticator(synced=False))
    page.goto("about:blank")
    keys = VirtualKeys(page)
    keys.add(own)
    keys.answer(present=True)
    page.goto(f"{origin}/login")
    page.wait_for_url(f"{origin}/account")


def test_what_is_cancelled_leaves_the_page_as_it_is(served, page):
    origin, site = served
    register(site, site.user(confirmed=True))
    page.goto(f"{origin}/login")
    keys = VirtualKeys(page, verified=False)  # it has none of this site
    keys.answer(present=True)
    page.locator("#passkey button").click()
    page.locator("#passkey [data-said]").filter(has_text="password").wait_for()
    assert page.url == f"{origin}/login"
    assert page.locator("#passkey button").get_attribute("aria-disabled") is None


def test_the_challenge_is_renewed_before_it_expires(served, page):
    origin, site = served
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "options" in request.url else 0)
    page.clock.install()
    VirtualKeys(page)
    page.goto(f"{origin}/login")
    page.wait_for_load_state("networkidle")
    assert len(asked) == 1
    page.clock.run_for(8 * 60_000)
    assert len(asked) == 1
    with page.expect_request("**/login/passkey/options"):
        page.clock.run_for(61_000)
    assert len(rows(site)) == 0
