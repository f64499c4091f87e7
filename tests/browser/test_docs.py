"""The API's description as a browser shows it: on a phone, wide, light, dark, without scripts."""

import pytest
from axe_core_python.sync_playwright import Axe

from tests.browser.web import web_server

pytestmark = pytest.mark.slow

WIDTHS = (320, 360, 768, 1280, 1920)


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """A server with the API's description."""
    with web_server(tmp_path_factory.mktemp("docs")) as (origin, _site):
        yield origin


def opened(new_context, address, **options):
    """A page, what it asked for, and what the browser had to say about it."""
    page = new_context(**options).new_page()
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address)
    return page, asked, said


def test_the_browser_loads_only_our_own_files_and_complains_about_nothing(new_context, origin):
    page, asked, said = opened(new_context, f"{origin}/docs")
    assert said == []
    assert len(asked) > 1
    assert all(address.startswith(f"{origin}/") for address in asked)
    assert page.evaluate("getComputedStyle(document.querySelector('.method')).fontWeight") == "700"


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out_at_the_side(new_context, origin, width):
    page, _, _ = opened(new_context, f"{origin}/docs", viewport={"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing(new_context, origin, scheme, width):
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    page, _, _ = opened(new_context, f"{origin}/docs", **options)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    found = Axe().run(page)["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


def test_the_filter_and_the_errors_work_without_scripts(new_context, origin):
    page, _, _ = opened(new_context, f"{origin}/docs", java_script_enabled=False)
    page.get_by_label("Filter the endpoints").fill("oauth/token")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**/docs?q=oauth%2Ftoken")
    assert page.locator("article").count() == 1
    page.locator(".errors > summary").click()
    page.locator(".errors li summary").first.click()
    assert '"error": "invalid_request"' in page.locator(".errors li pre").first.inner_text()


def test_dark_is_dark_and_light_is_light(new_context, origin):
    def ground(scheme):
        page, _, _ = opened(new_context, f"{origin}/docs", color_scheme=scheme)
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert ground("light") == "rgb(243, 244, 246)"
    assert ground("dark") == "rgb(16, 18, 22)"
