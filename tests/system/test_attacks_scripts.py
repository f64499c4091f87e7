"""What scripts of a foreign page can do to a signed-in user: nothing, at any route."""

import pytest

from authsite.platform.http import cookies as own
from tests.support.endpoints import FORM, JSON, changing
from tests.support.site import PASSWORD, bearer
from tests.support.world import AUTH, EVIL
from tests.system.test_attacks import (
    FIELDS,
    HOSTS,
    REFUSED,
    SESSIONS,
    Signed,
    account_of,
    cookies,
    toss,
)

pytestmark = pytest.mark.slow

# Each request in each way that a script can send it, with the cookies of the browser.
FETCH = """(requests) => Promise.all(requests.map(async ([url, method, mode, type, body]) => {
    try {
        const options = { method, mode, body, credentials: "include", redirect: "follow" };
        const answer = await fetch(url, { ...options, headers: { "Content-Type": type } });
        return answer.type + " " + answer.status;
    } catch { return "blocked"; }
}))"""
# What the browser itself says of requests that it has blocked, or whose response it hides.
BLOCKED = "CORS policy|ERR_FAILED|net::ERR"
SIMPLE = (FORM, "multipart/form-data", "text/plain")  # sent without asking first (Fetch Standard)


@pytest.fixture
def alice(world, watch):
    return Signed(world)


def requests():
    """[url, method, mode, type, body] for every method and route that may change something."""
    body = "&".join(f"{name}={value}" for name, value in FIELDS.items())
    for method, path in changing():
        for type_ in (JSON, *(SIMPLE if method == "POST" else ())):
            for mode in ("cors", *(["no-cors"] if type_ in SIMPLE else [])):
                yield [f"https://{AUTH}{path}", method, mode, type_, body]


@pytest.mark.control("S04")
@pytest.mark.parametrize("host", HOSTS)
def test_scripts_of_a_foreign_page_change_and_read_nothing(world, new_context, alice, host):
    every = list(requests())
    assert {method for _, method, *_ in every} == {"POST", "PUT", "PATCH", "DELETE"}
    assert len(every) > 100
    statuses = (*REFUSED, 202, 302, 303)
    context = new_context(AUTH, host, statuses=statuses, expected=BLOCKED)
    context.add_cookies(alice.jar)
    page, before = context.new_page(), cookies(context)
    with world.client() as http:
        who = {"username": alice.email, "password": PASSWORD}
        token = http.post("/v1/clients/web/login", json=who).json()["access_token"]
        look = [http.get(path, headers=bearer(token)) for path in ("/v1/user", SESSIONS)]
        page.goto(f"https://{host}/")
        found = page.evaluate(FETCH, every)
        read = [each for each, answer in zip(every, found, strict=True)
                if answer != "blocked" and not answer.startswith("opaque")]  # fmt: skip
        assert read == []
        assert cookies(context) == before
        again = [http.get(path, headers=bearer(token)) for path in ("/v1/user", SESSIONS)]
    assert look[0].json() == again[0].json()
    assert [each["id"] for each in look[1].json()["sessions"]] == [
        each["id"] for each in again[1].json()["sessions"]
    ]
    assert account_of(page) == alice.email


@pytest.mark.control("S02")
def test_no_cookie_of_a_sibling_takes_the_place_of_ours(new_context, alice):
    """Each of our cookies, for the whole domain: as ours is called, and without its prefix."""
    context = new_context(AUTH, EVIL)
    context.add_cookies(alice.jar)
    page = context.new_page()
    page.goto(f"https://{EVIL}/")
    for name in (own.SESSION, own.CSRF, own.NEXT, own.ADDRESS, own.LANGUAGE, own.DEVICE):
        for prefix in ("__Host-", "__Secure-", ""):
            toss(page, f"{prefix}{name}=de")
    assert account_of(page) == alice.email
    assert page.locator("html").get_attribute("lang") == "en"
    page.goto(f"https://{AUTH}/account")
    page.locator("summary", has_text=": Profile").click()
    form = page.locator("form[action$='/account/profile']")
    form.locator("[name=name]").fill("Alice Lee")
    form.locator("button").click()
    page.locator(".notice").wait_for()
    assert form.locator("[name=name]").input_value() == "Alice Lee"
