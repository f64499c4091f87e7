"""The bundled web client and other origins: what the token and the cookie are for."""

import pytest

from tests.system.browser.web import OTHER_ORIGIN, Tabs, newest

pytestmark = pytest.mark.slow

STRANGER = "http://127.0.0.1:65001"  # same site, and not in cors-origins
FORM = """<!doctype html><form method="post" action="{}/v1/clients/web/refresh"></form>
<script>document.forms[0].submit()</script>"""


def test_the_token_is_for_no_other_origin(tabs):
    tab = tabs.signed_in()
    tabs.forget()
    for url in ("https://evil.example/x", "//evil.example/x", "/\\evil.example", OTHER_ORIGIN):
        error = tab.evaluate("(url) => outcome(auth.fetch(url))", url)
        assert (error["code"], tabs.sent) == ("foreign_origin", []), url


def test_the_token_goes_to_an_origin_that_was_named(new_context, strict):
    tabs = Tabs(new_context(), strict[0], policy=None, origins=[OTHER_ORIGIN])
    allow = {
        "Access-Control-Allow-Origin": strict[0],
        "Access-Control-Allow-Headers": "authorization",
    }
    tabs.context.route(f"{OTHER_ORIGIN}/api", lambda route: route.fulfill(headers=allow, body=""))
    tab = tabs.signed_in()
    assert tab.evaluate("(url) => outcome(auth.fetch(url))", f"{OTHER_ORIGIN}/api") == 200
    assert tabs.sent[-1].headers["authorization"].startswith("Bearer at_")


def test_the_token_does_not_follow_a_redirect_to_another_origin(new_context, strict):
    tabs = Tabs(new_context(), strict[0], policy=None)  # the policy would stop it before
    tab = tabs.signed_in()
    moved = {"Location": f"{OTHER_ORIGIN}/v1/user"}
    tabs.context.route("**/v1/moved", lambda route: route.fulfill(status=302, headers=moved))
    tabs.forget()
    tab.evaluate("outcome(auth.fetch('/v1/moved'))")
    [redirected] = [each for each in tabs.sent if each.url.startswith(OTHER_ORIGIN)]
    assert "authorization" not in redirected.all_headers()


@pytest.mark.control("S05")
def test_a_form_on_another_origin_of_the_same_site_rotates_nothing(tabs, strict):
    tabs.signed_in()
    page = tabs.context.new_page()
    tabs.context.route(
        f"{STRANGER}/trap",
        lambda route: route.fulfill(content_type="text/html", body=FORM.format(tabs.origin)),
    )
    with page.expect_response("**/refresh") as answer:
        page.goto(f"{STRANGER}/trap")
    assert "refreshToken=" in answer.value.request.all_headers()["cookie"]  # it is the same site
    assert answer.value.status == 403
    assert newest(strict[1]).generation == 0


def test_a_page_on_another_origin_of_the_same_site_can_have_its_service_elsewhere(
    new_context, strict
):
    origin, site = strict
    # Chromium asks before a page that it did not load from this machine calls this machine.
    context = new_context(permissions=["local-network-access"])
    tabs = Tabs(context, OTHER_ORIGIN, policy=None, base=origin)
    tab = tabs.signed_in()
    tabs.reload(tab)
    assert tab.evaluate("auth.signedIn") is True
    assert tab.evaluate("(url) => outcome(auth.fetch(url))", f"{origin}/v1/user") == 200
    error = tab.evaluate("outcome(auth.login('ann@example.com', 'wrong'))")
    assert error["code"] == "invalid_grant"
    assert "refreshToken" in {cookie["name"] for cookie in context.cookies()}
    assert tab.evaluate("outcome(auth.logout())") == "done"
    assert newest(site).revoked_why == "logout"
    # Trial 21: the answer to logout clears the cookie on the other origin, too.
    assert "refreshToken" not in {cookie["name"] for cookie in context.cookies()}
