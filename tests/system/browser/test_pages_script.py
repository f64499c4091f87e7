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


def test_of_two_buttons_the_pressed_one_shows_that_the_form_is_sent(ann):
    ann.go("/login")
    shown = ann.page.evaluate("""() => {
        const form = document.querySelector("form"), first = form.querySelector("button.primary");
        const other = first.cloneNode(true);
        const copy = form.cloneNode(false);
        copy.append(first, other);
        form.replaceWith(copy);
        return import(document.querySelector("script[src*='pages.js']").src + "?again").then(() => {
            copy.addEventListener("submit", (event) => event.preventDefault());
            other.click();
            return [first, other].map((button) => [
                button.getAttribute("aria-disabled"),
                getComputedStyle(button, "::before").content,
            ]);
        });
    }""")
    assert shown == [["true", "none"], ["true", '""']]


def test_coming_back_to_a_page_makes_its_form_usable_again(ann):
    ann.go("/login")
    ann.page.evaluate("""() => {
        const form = document.querySelector("form");
        form.addEventListener("submit", (event) => event.preventDefault());
        form.requestSubmit();
        dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}));
    }""")
    assert ann.page.locator("button.primary").get_attribute("aria-disabled") is None
    assert ann.page.locator("[data-sent]").count() == 0


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
    ann.fill(email="ann at example", password="password")
    ann.press("Create account")
    ann.page.locator(".summary:focus").wait_for()
    field = ann.page.locator("[name=email]")
    told = field.get_attribute("aria-describedby")
    assert field.get_attribute("aria-invalid") == "true"
    assert "Enter an e-mail address in the format" in ann.page.locator(f"#{told}").inner_text()
    assert field.input_value() == "ann at example"
    assert ann.page.locator("[name=password]").input_value() == ""
    ann.page.keyboard.press("Tab")
    ann.page.keyboard.press("Enter")
    ann.page.locator("[name=email]:focus").wait_for()


EXACT = (
    "(time) => [time.textContent, time.title, new Date(time.dateTime).toLocaleString("
    "'en-GB', {dateStyle: 'medium', timeStyle: 'short', timeZone: 'Asia/Tokyo'})]"
)


def test_dates_are_in_the_readers_zone(ann):
    register(ann, "zone@example.com")
    ann.follow("Access tokens")
    ann.open("Create a token")
    ann.fill(name="nightly", current_password=PASSWORD)
    ann.press("Create token")
    ann.sees("it will not be shown again")
    shown, title, exact = ann.page.locator("time:not([data-ago])").last.evaluate(EXACT)
    assert shown == exact
    assert title.endswith(" UTC")


def test_recent_times_say_how_long_ago_and_have_the_exact_one_as_title(ann):
    register(ann, "ago@example.com")
    ann.follow("Security")
    ann.sees("Show all activity")
    for time in ("[data-time]", "[data-ago]"):
        found = ann.page.locator(f"time{time}").first
        found.filter(has_text="1 minute ago").wait_for()
        shown, title, exact = found.evaluate(EXACT)
        assert (shown, title) == ("1 minute ago", exact)


def test_events_are_under_the_days_of_the_readers_zone(ann):
    register(ann, "days@example.com")
    ann.follow("Security")
    ann.page.wait_for_function("document.querySelector('time[data-time]').title.includes(',')")
    made = ann.page.evaluate("""async () => {
        const box = document.querySelector("[data-days]");
        const item = box.querySelector("li");
        return [[...box.querySelectorAll("h3")].map((each) => each.textContent), item.title];
    }""")
    assert made[0] == ["today"]  # the stylesheet makes the first letter a capital


def test_a_new_token_can_be_copied(new_context, server):
    context = new_context(permissions=["clipboard-read", "clipboard-write"])
    ann = Person(context, *server)
    register(ann, "copy@example.com")
    ann.go("/account/access")
    ann.open("Create a token")
    ann.fill(name="nightly", current_password=PASSWORD)
    ann.press("Create token")
    ann.press("Copy")
    ann.sees("Copied")
    token = ann.page.locator(".secret").inner_text()
    assert ann.page.evaluate("navigator.clipboard.readText()") == token


@pytest.mark.parametrize("javascript", [True, False], ids=["script", "no script"])
def test_an_open_form_is_closed_by_cancel_at_its_end(new_context, server, javascript):
    ann = Person(new_context(java_script_enabled=javascript), *server)
    register(ann, f"cancel-{javascript}@example.com".lower())
    ann.follow("Security")
    field = ann.page.locator("#password-current_password")
    button = ann.page.locator("details", has=field).locator("summary")
    button.click()
    assert field.is_visible()
    assert not button.is_visible()
    if javascript:
        ann.page.locator("#password-current_password:focus").wait_for()
    field.fill("something")
    ann.page.locator("details[open]").get_by_role("link", name="Cancel").click()
    ann.at("/account/security")
    button.wait_for()
    assert not field.is_visible()
    assert field.input_value() == ""
    if javascript:
        assert button.evaluate("(button) => button === document.activeElement")


def test_the_data_arrives_as_a_file_and_the_page_stays(ann):
    register(ann, "data@example.com")
    ann.at("/account")
    ann.follow("Download my data first")  # on the same page: it unfolds the form
    ann.page.locator("#export-current_password").fill(PASSWORD)
    with ann.page.expect_download() as download:
        ann.press("Download my data")
    assert download.value.suggested_filename == "account-data.json"
    assert "data@example.com" in download.value.path().read_text()
    ann.at("/account")


def register(ann, email):
    ann.go("/register")
    ann.fill(email=email, password=PASSWORD)
    ann.press("Create account")
    ann.sees("Check your e-mail")
    ann.sign_in(email=email)
    ann.at("/account")


def test_a_mistake_is_gone_while_its_field_is_corrected(ann):
    ann.go("/register")
    ann.fill(email="ann at example", password="aaaaaaaaaaaa")
    ann.press("Create account")
    ann.page.locator(".summary:focus").wait_for()
    password, email = (ann.page.locator(f"[name={name}]") for name in ("password", "email"))
    password.fill("purple wolf 77 tea")
    assert password.get_attribute("aria-invalid") == "false"
    assert password.get_attribute("aria-describedby") == "password-hint"
    assert ann.page.locator("#password-error").count() == 0
    assert ann.page.locator(".summary li a").all_inner_texts() == [
        "Enter an e-mail address in the format name@example.com."
    ]
    ann.page.locator(".strength").wait_for()  # the meter alone judges the new value
    assert email.get_attribute("aria-invalid") == "true"
    email.fill("ann@example.com")
    assert email.get_attribute("aria-describedby") is None
    assert ann.page.locator(".summary, .error").count() == 0


def test_a_single_mistake_leaves_no_empty_summary(ann):
    ann.go("/password/forgot")
    ann.fill(email="ann")
    ann.press("Send the link")
    ann.page.locator(".summary:focus").wait_for()
    ann.page.keyboard.press("Tab")
    ann.page.locator("[name=email]").press("End")
    ann.page.keyboard.type("@example.com")
    assert ann.page.locator(".summary, .error").count() == 0


def test_the_mail_is_sent_again_after_half_a_minute(ann):
    ann.go("/password/forgot")
    ann.fill(email=EMAIL)
    ann.page.clock.install()
    ann.press("Send the link")
    button = ann.page.locator("form[data-wait] button")
    # The server has written "Send it again", until the script has run.
    ann.page.locator("form[data-wait] button", has_text="in 30 s").wait_for()
    assert button.inner_text() == "Send it again in 30 s"
    assert button.is_disabled()
    ann.page.clock.run_for(12_000)
    assert button.inner_text() == "Send it again in 18 s"
    ann.page.clock.run_for(18_000)
    assert button.inner_text() == "Send it again"
    button.click()
    ann.page.locator("form[data-wait] button", has_text="in 30 s").wait_for()


def test_without_the_script_it_is_sent_again_at_once(new_context, server):
    ann = Person(new_context(java_script_enabled=False), *server)
    ann.go("/password/forgot")
    ann.fill(email=EMAIL)
    ann.press("Send the link")
    ann.press("Send it again")
    ann.sees("Check your e-mail")


def test_what_was_done_is_said_once(ann):
    register(ann, "once@example.com")
    ann.page.locator("summary", has_text=": Profile").click()
    ann.page.locator("#profile-name").fill("Ann")
    ann.press("Save")
    ann.sees("Your profile has been saved.")
    ann.page.wait_for_url(f"{ann.origin}/account")
    ann.page.reload()
    assert ann.page.get_by_text("Your profile has been saved.").count() == 0
    ann.page.context.clear_cookies()
    ann.go("/?done=signed-out&x=1")
    assert ann.page.url == f"{ann.origin}/?x=1"
    ann.go("/register?done=1")  # not a notice, but the page itself
    assert ann.page.url == f"{ann.origin}/register?done=1"
