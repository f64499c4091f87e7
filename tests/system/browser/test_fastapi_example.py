"""The FastAPI example in a browser: the button Authorize of /docs, and a WebSocket with a token."""

import mimetypes
import re

import pytest

from tests.support.example_apps import Stand
from tests.support.home import CHECKOUT
from tests.support.site import PASSWORD

pytestmark = pytest.mark.slow

VENDORED = CHECKOUT / "authsite/static/swagger-ui"
# Opens a WebSocket, and tells what it was accepted with and sent, or that it was not opened.
OPEN = """
([protocols, path]) => new Promise(resolve => {
  const socket = new WebSocket(location.origin.replace("http", "ws") + path, protocols);
  socket.onmessage = event => resolve([socket.protocol, JSON.parse(event.data)]);
  socket.onclose = () => resolve("closed");
})
"""


@pytest.fixture(scope="module")
def stand(tmp_path_factory):
    made = Stand(tmp_path_factory.mktemp("fastapi"))
    with made.authsite(), made.app("fastapi"):
        yield made
    made.site.database.dispose()


@pytest.fixture
def page(stand, new_context):
    """A page of the application; what FastAPI loads from another host comes from our copy."""
    made = new_context().new_page()

    def vendored(route):
        file = VENDORED / route.request.url.rpartition("/")[2]
        kind = mimetypes.guess_type(file.name)[0]
        if file.exists():
            route.fulfill(body=file.read_bytes(), content_type=kind)
        else:
            route.abort()

    made.route(re.compile("^https:"), vendored)
    made.origin = f"http://localhost:{stand.app_ports['fastapi']}"
    return made


def test_the_button_authorize_signs_in_and_calls_the_api(page):
    page.goto(f"{page.origin}/docs")
    page.click("button.authorize")
    page.fill("#oauth_username", "ann@example.com")
    page.fill("#oauth_password", PASSWORD)
    page.click("label:has-text('notes:write')")
    page.click(".auth-container button:has-text('Authorize')")
    page.wait_for_selector(".auth-container button:has-text('Logout')")
    page.click("button.btn-done")
    page.click("#operations-default-show_notes_get .opblock-summary-control")
    page.click("#operations-default-show_notes_get button.try-out__btn")
    page.click("#operations-default-show_notes_get button.execute")
    body = page.wait_for_selector(".live-responses-table .response-col_description pre")
    assert "ann@example.com" in body.inner_text()


def test_a_script_sends_the_token_of_a_websocket_in_a_subprotocol(stand, page):
    page.goto(f"{page.origin}/")
    protocol = f"authsite.bearer.{stand.token()}"
    for protocols in ([protocol], ["notes.v1", protocol]):
        accepted, notes = page.evaluate(OPEN, [protocols, "/live"])
        assert accepted == protocol
        assert notes == ["Buy bread"]


def test_a_websocket_without_a_token_or_with_a_forged_one_does_not_open(stand, page):
    page.goto(f"{page.origin}/")
    token = stand.token()
    for protocols, path in (
        ([], "/live"),
        (["authsite.bearer.at_forged"], "/live"),
        ([], f"/live?access_token={token}"),
    ):
        assert page.evaluate(OPEN, [protocols, path]) == "closed"
