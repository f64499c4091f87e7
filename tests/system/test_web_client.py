"""The bundled web client through TLS: on our own page, on a sibling, and on another site."""

import pytest

from tests.support.mails import values_in
from tests.support.site import PASSWORD
from tests.support.world import APP, ATTACKER, AUTH, PARTNER

pytestmark = pytest.mark.slow

START = """async (options) => {
    const { createClient } = await import(options.module);
    window.auth = createClient(options);
    // A failure as its code, a response as its status.
    window.outcome = (promise) => promise.then(
        (value) => (value instanceof Response ? value.status : value ?? "done"),
        (error) => error.code ?? String(error),
    );
}"""
OWN = {"module": "/authsite/static/current/client/authsite.js"}
ELSEWHERE = {"module": "/authsite.js", "base": f"https://{AUTH}"}


class Application:
    """A page at ``https://{host}`` with the client as ``auth``."""

    def __init__(self, context, host, options):
        self.page, self.context, self.options = context.new_page(), context, options
        self.page.goto(f"https://{host}/" if host != AUTH else f"https://{host}/login")
        self.start()

    def start(self):
        self.page.evaluate(START, self.options)

    def reload(self):
        self.page.reload()
        self.start()

    def does(self, call, *arguments):
        """The outcome of ``auth.{call}(...)``."""
        return self.page.evaluate(f"(given) => outcome(auth.{call}(...given))", list(arguments))

    def cookies(self):
        return {cookie["name"]: cookie for cookie in self.context.cookies()}


@pytest.mark.control("S02")
def test_the_page_of_the_bundled_client(world, new_context):
    """Only the proxies and a bearer token; the cookie brings the session back."""
    email = world.register()
    context = new_context(statuses=(400,))  # there is no session to come back to
    page = context.new_page()
    page.goto(f"https://{AUTH}/app")
    page.locator("#login [name=username]").fill(email)
    page.locator("#login [name=password]").fill(PASSWORD)
    page.locator("#login button.primary").click()
    page.locator("#account").get_by_text(email).wait_for()
    page.locator("#call button").click()
    page.locator("#answer", has_text=email).wait_for()
    [cookie] = [each for each in context.cookies() if each["name"] == "refreshToken"]
    facts = {name: cookie[name] for name in ("secure", "httpOnly", "sameSite", "path", "domain")}
    assert facts == {
        "secure": True,
        "httpOnly": True,
        "sameSite": "Strict",
        "path": "/v1/clients/web",
        "domain": AUTH,
    }
    page.reload()
    page.locator("#account").get_by_text(email).wait_for()
    page.locator("#logout button").click()
    page.locator("#login").wait_for()
    page.reload()
    page.locator("#login").wait_for()
    assert "refreshToken" not in {each["name"] for each in context.cookies()}


@pytest.mark.parametrize("host", [AUTH, APP], ids=["our own origin", "another origin"])
def test_an_application_on_our_site(world, new_context, host):
    """Trial 10 and 21: another origin could send no X-Requested-With and kept its cookie."""
    email = world.register()
    context = new_context(AUTH, host, statuses=(400,))
    app = Application(context, host, OWN if host == AUTH else ELSEWHERE)
    assert app.does("restore") is False
    assert app.does("login", email, "not this one") == "invalid_grant"
    assert app.does("login", email, PASSWORD) == "done"
    laravel = {"headers": {"X-Requested-With": "XMLHttpRequest", "Accept": "application/json"}}
    assert app.does("fetch", f"https://{AUTH}/v1/user", laravel) == 200
    app.reload()
    assert app.does("restore") is True
    assert app.does("fetch", f"https://{AUTH}/v1/user") == 200
    assert app.does("logout") == "done"
    assert "refreshToken" not in app.cookies()
    app.reload()
    assert app.does("restore") is False


def test_an_account_by_the_client_alone(world, new_context, visitor):
    email, second = f"by-{id(world)}@example.com", "green otter 31 rye"
    mailbox = visitor().mailbox
    app = Application(new_context(AUTH, APP, statuses=(400,)), APP, ELSEWHERE)
    fields = {"email": email, "password": PASSWORD,
              "verification_url": f"https://{AUTH}/email/verify"}  # fmt: skip
    assert app.does("register", fields)["email"] == email
    with world.client() as http:
        page = http.get(mailbox.link(email, "/email/verify/")).text
        app.does("verifyEmail", values_in(page)["url"])
        app.does("forgotPassword", email)
        page = http.get(mailbox.link(email, "/password/reset/")).text
    token = values_in(page)["token"]
    app.does("resetPassword", {"email": email, "token": token, "password": second})
    assert app.does("login", email, PASSWORD) == "invalid_grant"
    assert app.does("login", email, second) == "done"
    answer = "auth.fetch('https://auth.example.test/v1/user').then((answer) => answer.json())"
    user = app.page.evaluate(answer)
    assert (user["email"], user["confirmed"]) == (email, True)


def test_an_application_on_another_site_passes_the_token_itself(world, new_context):
    """The refresh cookie is SameSite=Strict: it neither comes nor goes there."""
    email = world.register()
    app = Application(new_context(AUTH, PARTNER, statuses=(400,)), PARTNER, ELSEWHERE)
    assert app.does("login", email, PASSWORD) == "done"
    assert app.does("fetch", f"https://{AUTH}/v1/user") == 200
    app.reload()
    assert app.does("restore") is False
    assert app.cookies() == {}
    pair = app.page.evaluate(
        """async ([origin, username, password]) => {
            const post = (path, body) => fetch(`${origin}/v1/clients/web/${path}`, {
                method: "POST",
                headers: { "Content-Type": "application/json" },
                body: JSON.stringify(body),
            }).then((answer) => answer.json());
            const { refresh_token } = await post("login", { username, password });
            return [refresh_token, (await post("refresh", { refresh_token })).refresh_token];
        }""",
        [f"https://{AUTH}", email, PASSWORD],
    )
    assert all(token.startswith("rt_") for token in pair)
    assert pair[0] != pair[1]


@pytest.mark.control("S10")
@pytest.mark.parametrize("credentials", ["omit", "include"])
def test_an_origin_that_is_not_listed_reads_nothing(world, new_context, credentials):
    email = world.register()
    blocked = r"blocked by CORS policy|net::ERR_FAILED"
    page = new_context(AUTH, ATTACKER, expected=blocked).new_page()
    page.goto(f"https://{ATTACKER}/")
    outcome = page.evaluate(
        """([origin, credentials, body]) => fetch(`${origin}/v1/clients/web/login`, {
            method: "POST",
            credentials,
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify(body),
        }).then((answer) => answer.text(), (error) => error.name)""",
        [f"https://{AUTH}", credentials, {"username": email, "password": PASSWORD}],
    )
    assert outcome == "TypeError"
