"""What the pages' script adds, and that the pages do without it."""

import pytest

from tests.system.browser.people import EMAIL, PASSWORD, Person, pages_server

CAPS = "new KeyboardEvent('keydown', {key: 'A', modifierCapsLock: %s})"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pages_server(tmp_path_factory.mktemp("script")) as served:
        yield served


@pytest.fixture
def ann(new_context, server):
    return Person(new_context(timezone_id="Asia/Tokyo", locale="en-GB"), *server)


def test_a_form_is_sent_once_however_often_its_button_is_pressed(ann):
    ann.go("/login")
    sent = ann.page.evaluate("""() => {
        const form = document.querySelector("form"), button = form.querySelector("button.primary");
        let sent = 0;
        form.addEventListener("submit", (event) => {
            sent += !event.defaultPrevented;
            event.preventDefault();
        });
        button.click();
        button.click();
        return [sent, button.getAttribute("aria-disabled")];
    }""")
    assert sent == [1, "true"]


def test_coming_back_to_a_page_makes_its_form_usable_again(ann):
    ann.go("/login")
    ann.page.evaluate("""() => {
        const form = document.querySelector("form");
        form.addEventListener("submit", (event) => event.preventDefault());
        form.requestSubmit();
        dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}));
    }""")
    assert ann.page.locator("button.primary").get_attribute("aria-disabled") is None


@pytest.mark.control("P11")
def test_a_shown_password_is_hidden_again_before_it_is_sent(ann):
    ann.go("/login")
    ann.fill(username=EMAIL, password="not this one 1")
    ann.page.get_by_role("button", name="Show password").click()
    seen = ann.page.evaluate("""() => {
        const form = document.querySelector("form");
        const types = [form.password.type];
        form.addEventListener("submit", (event) => {
            event.preventDefault();
            types.push(form.password.type);
        });
        form.requestSubmit();
        return types;
    }""")
    assert seen == ["text", "password"]


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        ("/password/reset", "?email=a@example.com&token=x"), ("/password/reset", "/x"),
        ("/email/verify", "?url=x"), ("/email/verify", "/x"), ("/login/not-me", "/x"),
        ("/email/change/cancel", "/x"), ("/email/change/revert", "/x"),
    ],
)  # fmt: skip
def test_a_secret_leaves_the_address_bar_at_once(ann, path, secret):
    ann.go(path + secret)
    assert ann.page.url == ann.origin + path


def test_caps_lock_is_said(ann):
    ann.go("/login")
    field, hint = ann.page.locator("[name=password]"), ann.page.locator(".caps")
    for on in ("true", "false"):
        field.evaluate(f"(field) => field.dispatchEvent({CAPS % on})")
        assert hint.inner_text() == ("Caps Lock is on." if on == "true" else "")


@pytest.mark.control("P11")
@pytest.mark.control("X07")
@pytest.mark.parametrize("javascript", [True, False], ids=["script", "no script"])
def test_mistakes_have_the_focus_and_belong_to_their_fields(new_context, server, javascript):
    ann = Person(new_context(java_script_enabled=javascript), *server)
    ann.go("/register")
    ann.fill(email="ann at example", name="Ann", password="password")
    ann.press("Create account")
    ann.page.locator(".summary:focus").wait_for()
    field = ann.page.locator("[name=email]")
    told = field.get_attribute("aria-describedby")
    assert field.get_attribute("aria-invalid") == "true"
    assert "Enter an e-mail address in the format" in ann.page.locator(f"#{told}").inner_text()
    assert (field.input_value(), ann.page.locator("[name=name]").input_value()) == (
        "ann at example",
        "Ann",
    )
    assert ann.page.locator("[name=name]").get_attribute("aria-invalid") == "false"
    assert ann.page.locator("[name=password]").input_value() == ""
    ann.page.keyboard.press("Tab")
    ann.page.keyboard.press("Enter")
    ann.page.locator("[name=email]:focus").wait_for()


def test_dates_are_in_the_readers_zone(ann):
    register(ann, "zone@example.com")
    shown, title, exact = ann.page.locator("time").first.evaluate(
        "(time) => [time.textContent, time.title, new Date(time.dateTime).toLocaleString("
        "'en-GB', {dateStyle: 'medium', timeStyle: 'short', timeZone: 'Asia/Tokyo'})]"
    )
    assert shown == exact
    assert title.endswith(" UTC")


def test_pages_m9_an_open_form_is_closed_by_cancel(ann):
    register(ann, "cancel@example.com")
    field = ann.page.locator("#password-password")
    button = ann.page.locator("details", has=field).locator("summary")
    assert button.inner_text() == "Change password"
    button.click()
    assert field.is_visible()
    assert button.inner_text() == "Cancel"
    button.click()
    assert not field.is_visible()


def register(ann, email):
    ann.go("/register")
    ann.fill(email=email, password=PASSWORD)
    ann.press("Create account")
    ann.sees("Check your e-mail")
    ann.sign_in(email=email)
    ann.at("/account")
