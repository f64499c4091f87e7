"""The API documentation as a browser shows it: Swagger UI, signed in through the proxy."""

import pytest

from tests.support import databases
from tests.support.servers import serving, write_ini
from tests.support.site import PASSWORD
from tests.system.browser.axe import CONTRAST, violations
from tests.system.browser.people import pages_server
from tests.system.browser.web import USERS, web_server

pytestmark = pytest.mark.slow

WIDTHS = (320, 360, 768, 1280, 1920)
# Of the operations of a subject that are closed, which look alike, only the first is examined.
# Of the tables of responses, which look alike, too, one is examined.
ALIKE = (
    ".operation-tag-content > span:not(:first-child) > .opblock:not(.is-open),"
    "[id$='-patch_user'] .responses-wrapper, [id$='-delete_user_session'] .responses-wrapper,"
    "[id$='-post_oauth_token'] .responses-wrapper"
)
# Swagger UI gives each table of responses the role `region`, without a name.
KNOWN = {"landmark-unique"}


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """A server with the API documentation and the web client."""
    with web_server(tmp_path_factory.mktemp("docs")) as (origin, _site):
        yield origin


@pytest.fixture(scope="module")
def opened(chromium, origin):
    """The page with some operations open: to look at it is quick, to render it takes seconds."""
    context = chromium.new_context(reduced_motion="reduce", viewport={"width": 360, "height": 900})
    context.set_default_timeout(60_000)
    docs = Docs(lambda: context, origin)
    docs.open_some()
    yield docs
    context.close()


class Docs:
    """The page in a browser; `complaints` has console errors and violations of the policy."""

    def __init__(self, new_context, origin, **options):
        self.page = new_context(**options).new_page()
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request))
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(f"{origin}/docs")
        self.page.locator(".opblock").first.wait_for()

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def sign_in(self, password=PASSWORD, *, name=USERS[0]):
        self.page.get_by_label("E-mail address").fill(name)
        self.page.locator("#sign-in").get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in", exact=True).click()

    def operation(self, operation_id):
        """The operation, opened."""
        found = self.page.locator(f".opblock[id$='-{operation_id}']")
        found.locator(".opblock-summary-control").click()
        found.locator(".responses-wrapper").wait_for()
        return found

    def open_some(self):
        """Operations with and without parameters, a JSON body, a form, and a short response."""
        for name in ("patch_user", "delete_user_session", "post_oauth_token"):
            self.operation(name)
        execute(self.operation("get_user"))


def execute(operation):
    """Send the call; the status and the body of the answer."""
    # Not by a click: what is still rendered above moves the button between press and release.
    operation.get_by_role("button", name="Execute").press("Enter")
    live = operation.locator(".live-responses-table .response")
    live.wait_for()
    return live.locator(".response-col_status").inner_text(), live.inner_text()


def test_a_reader_signs_in_through_the_proxy_and_calls_a_guarded_endpoint(new_context, origin):
    docs = Docs(new_context, origin)
    docs.sign_in()
    docs.page.get_by_text(f"Signed in as {USERS[0]}").wait_for()  # pages M9
    docs.page.get_by_role("button", name="Sign out").wait_for()
    user = docs.operation("get_user")
    status, answer = execute(user)
    assert status.strip() == "200"
    assert f'"email": "{USERS[0]}"' in answer
    assert "Bearer <access_token>" in user.locator(".curl-command").inner_text()
    assert "at_" not in docs.page.content()
    docs.page.get_by_role("button", name="Sign out").click()
    docs.page.get_by_role("button", name="Sign in", exact=True).wait_for()
    assert docs.complaints == []
    assert all(request.url.startswith(f"{origin}/") for request in docs.requests)
    sent = " ".join(f"{each.all_headers()} {each.post_data}" for each in docs.requests)
    assert "client_secret" not in sent
    assert "Basic" not in sent


def test_a_wrong_password_is_reported_beside_the_form(opened):
    opened.sign_in("not the password 1")
    alert = opened.page.get_by_role("alert").filter(has_text="incorrect")
    assert alert.inner_text().startswith("The e-mail address or password is incorrect.")
    assert opened.page.get_by_role("button", name="Sign in", exact=True).is_enabled()


def test_everything_is_reached_with_the_keyboard(new_context, origin):
    docs = Docs(new_context, origin)
    docs.page.get_by_label("E-mail address").fill(USERS[0])
    docs.page.keyboard.press("Tab")
    docs.page.keyboard.type(PASSWORD)
    docs.page.keyboard.press("Enter")
    docs.page.get_by_text(f"Signed in as {USERS[0]}").wait_for()
    operation = docs.page.locator(".opblock[id$='-get_user']")
    operation.locator(".opblock-summary-control").press("Enter")
    operation.locator(".responses-wrapper").wait_for()
    status, answer = execute(operation)  # by Enter
    assert status.strip() == "200"
    assert USERS[0] in answer


def test_operations_that_take_a_client_secret_cannot_be_tried_in_the_browser(opened):
    token = opened.page.locator(".opblock.is-open[id$='-post_oauth_token']")
    assert token.locator(".responses-wrapper").count() == 1
    assert token.get_by_role("button", name="Execute").count() == 0
    assert token.locator("input").count() == 0


def test_a_newcomer_registers_logs_in_and_calls_the_api_as_the_introduction_says(
    new_context, tmp_path
):
    with pages_server(tmp_path) as (origin, _box):
        docs = Docs(new_context, origin)
        steps = docs.page.locator(".info ol li").all_inner_texts()
        assert [step.split(":")[0] for step in steps][:2] == ["Register", "Log in"]
        assert "GET /v1/user" in steps[2]
        # Each call as it stands there: the client, the address and the password are filled in.
        assert execute(docs.operation("post_register"))[0].strip() == "201"
        status, answer = execute(docs.operation("post_proxy_login"))
        assert (status.strip(), "access_token" in answer) == ("200", True)
        docs.sign_in("correct-horse-battery-staple", name="ann@example.com")
        docs.page.get_by_text("Signed in as ann@example.com").wait_for()
        assert execute(docs.operation("get_user"))[0].strip() == "200"
        assert docs.complaints == []


def test_there_is_one_way_to_sign_in(opened):
    assert opened.page.get_by_role("button", name="Sign in", exact=True).count() == 1
    assert opened.page.locator(".btn.authorize, .authorization__btn").count() == 0
    needs = opened.page.locator(".opblock.is-open[id$='-get_user'] .needs")
    assert needs.inner_text() == "access token"


def test_without_the_web_client_a_token_is_typed_in(new_context, tmp_path):
    url = databases.migrated(databases.new_url("sqlite", tmp_path, "docs"))
    with serving(write_ini(tmp_path, url)) as http:
        docs = Docs(new_context, str(http.base_url).rstrip("/"))
        docs.page.locator(".btn.authorize").click()
        dialog = docs.page.locator(".dialog-ux")
        assert dialog.get_by_text("bearer").count() > 0
        assert dialog.locator("input").count() == 1


def test_nothing_sticks_out_at_the_side(opened):
    for width in WIDTHS:
        opened.page.set_viewport_size({"width": width, "height": 900})
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width


def test_axe_finds_nothing(opened):
    opened.page.set_viewport_size({"width": 360, "height": 900})
    opened.page.emulate_media(color_scheme="light")
    found = violations(opened.page, without=ALIKE)
    opened.page.emulate_media(color_scheme="dark")
    opened.page.set_viewport_size({"width": 1280, "height": 900})
    found += violations(opened.page, CONTRAST, ALIKE)
    assert [each for each in found if each[0] not in KNOWN] == []


def test_dark_is_dark_and_light_is_light(opened, new_context, origin):
    def ground(scheme):
        # One that was opened in the light, and one that is opened in the dark.
        page = (
            opened.page
            if scheme == "light"
            else Docs(new_context, origin, color_scheme=scheme).page
        )
        page.emulate_media(color_scheme=scheme)
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert ground("light") == "rgb(255, 255, 255)"
    assert ground("dark") == "rgb(28, 32, 34)"
