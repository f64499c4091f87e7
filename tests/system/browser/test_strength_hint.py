"""The hint beside a new password: it says what the server will say, or nothing."""

import re

import httpx
import pytest

from tests.system.browser.people import Person, pages_server
from tests.system.browser.web import wait_for

EMAIL = "marlene.dietrich@example.com"
CHECK = re.compile("/check$")
TOO_EASY = "Too easy to guess: it will be refused. Try four unrelated words."
CHECKING, UNKNOWN = "Checking …", "It is checked when you send the form."
PASSWORDS = [
    "password1", "P@ssw0rd!", "marlene.dietrich", "dietrich1987", "schalke04!", "a" * 70,
    "four quiet cats dance", "purple wolf", "gartenzaun im märz", "陽だまりの猫と古時計",
    "x" * 100 + "four quiet cats", "Tr0ub4dor&3",
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pages_server(tmp_path_factory.mktemp("strength"), limits="off") as served:
        yield served


@pytest.fixture
def ann(new_context, server):
    ann = Person(new_context(locale="en-GB"), *server)
    ann.go("/register")
    ann.fill(email=EMAIL)
    return ann


def hint_of(ann, password):
    """Type a password; the level and the text of the hint, once the server has answered."""
    with ann.page.expect_response(CHECK):
        ann.page.locator("[name=password]").fill(password)
    return shown(ann)


def shown(ann):
    hint = ann.page.locator(".strength")
    wait_for(ann.page, lambda: hint.inner_text() != CHECKING)
    return int(hint.get_attribute("data-level")), hint.inner_text()


def test_the_hint_and_the_server_agree_on_a_dozen_passwords(ann):
    hints, refusals = {}, {}
    for password in PASSWORDS:
        level, text = hint_of(ann, password)
        hints[password] = level == 1
        assert (text == TOO_EASY) == (level == 1)
        # With an invalid name: the password is judged, and neither hashed nor used.
        asked = {"email": EMAIL, "password": password, "name": "\a"}
        answer = httpx.post(f"{ann.origin}/v1/register", json=asked)
        assert answer.status_code == 422
        codes = [error["code"] for error in answer.json().get("errors", [])]
        refusals[password] = "weak_password" in codes
    assert hints == refusals
    assert len(set(hints.values())) == 2
    assert ann.troubles == []


def test_the_hint_says_what_is_missing_and_goes_with_the_password(ann):
    field, hint = ann.page.locator("[name=password]"), ann.page.locator(".strength")
    for password, text in {
        "purple": "2 more characters.",
        "purplew": "1 more character.",
    }.items():
        field.fill(password)
        assert hint.inner_text() == text
    assert hint_of(ann, "purple wolf") == (2, "Fair. Longer is stronger.")
    assert hint_of(ann, "four quiet cats dance") == (3, "Strong.")
    field.fill("")
    assert not hint.is_visible()


def test_an_address_that_is_typed_later_counts(ann):
    assert hint_of(ann, "quixzylm2026")[0] == 3
    ann.fill(email="quixzylm.wolke@example.com")
    with ann.page.expect_response(CHECK):
        ann.page.locator("[name=email]").blur()
    assert shown(ann) == (1, TOO_EASY)


@pytest.mark.parametrize("status", [429, 503, None], ids=["limited", "busy", "away"])
def test_without_an_answer_nothing_is_claimed_and_the_form_can_be_sent(ann, status):
    ann.page.route(
        CHECK, lambda route: route.fulfill(status=status, body="{}") if status else route.abort()
    )
    ann.page.locator("[name=password]").fill("password1")
    ann.sees(UNKNOWN)
    assert shown(ann) == (0, UNKNOWN)
    ann.page.unroute(CHECK)
    ann.press("Create account")
    ann.sees("Try four unrelated words.")


def test_what_is_under_way_is_not_shown_for_another_password(ann):
    held = []
    ann.page.route(CHECK, lambda route: held.append(route))
    field = ann.page.locator("[name=password]")
    field.fill("four quiet cats dance")
    wait_for(ann.page, lambda: held)
    assert ann.page.locator(".strength").inner_text() == CHECKING
    with ann.page.expect_event("requestfailed"):  # the page has given it up
        field.fill("password1")
    wait_for(ann.page, lambda: len(held) == 2)
    held[1].fulfill(json={"level": 1, "message": TOO_EASY})
    assert shown(ann) == (1, TOO_EASY)


def test_the_hint_asks_and_is_read_out_once_for_a_pause(ann):
    asked = []
    ann.page.on("request", lambda request: CHECK.search(request.url) and asked.append(request))
    ann.page.evaluate("""() => {
        window.said = [];
        const status = document.querySelector(".strength + [role=status]");
        const note = () => said.push(status.textContent);
        new MutationObserver(note).observe(status, { childList: true });
    }""")
    ann.page.locator("[name=password]").press_sequentially("four quiet cats", delay=30)
    wait_for(ann.page, lambda: ann.page.evaluate("said").count("Strong.") == 1)
    assert len(asked) == 1
    assert ann.page.evaluate("said") == ["Strong."]


def test_the_account_page_knows_the_user_and_sends_no_current_password(ann):
    ann.fill(email="rosalinde@example.com", password="purple wolf 77 tea")
    ann.press("Create account")
    ann.page.get_by_role("heading", name="Check your").wait_for()
    ann.sign_in("purple wolf 77 tea", "rosalinde@example.com")
    ann.at("/account")
    ann.follow("Security")
    ann.change("Password")
    form = ann.page.locator("form[action$='/account/password']")
    form.locator("[name=current_password]").fill("purple wolf 77 tea")
    with ann.page.expect_response(CHECK) as answered:
        form.locator("[name=password]").fill("rosalinde1987")
    assert "purple" not in answered.value.request.post_data
    assert shown(ann) == (1, TOO_EASY)
