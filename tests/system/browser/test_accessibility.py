"""Every page for everybody: axe, the keyboard alone, narrow windows, and a clean console."""

import pytest

from tests.support import extent
from tests.support.languages import words_of
from tests.system.browser.axe import violations_in_both_schemes
from tests.system.browser.gallery import (
    CUT,
    REQUIRED,
    SETTINGS,
    applications_server,
    gallery,
    visitor,
)
from tests.system.browser.gallery_factors import required
from tests.system.browser.people import EMAIL, PASSWORD, SECOND, THIRD, Person, pages_server


@pytest.fixture
def server(tmp_path):
    with pages_server(tmp_path, **SETTINGS) as served:
        yield served


@pytest.mark.control("X07")
@pytest.mark.control("P11")
@pytest.mark.parametrize("language", ["de", "en"] if extent.ALL else ["de"])
def test_axe_finds_nothing_and_nothing_is_cut_or_scrolls_sideways(server, new_context, language):
    """German has the longest words."""
    ann = on_a_small_phone(new_context, server, language)
    assert faults_of(ann, gallery(ann)) == ({}, {})
    # Chromium notes each of these answers by itself: a page that is not there, a link that is not
    # ours, and /app asking whether there is a session to come back to, which only a try can tell.
    expected = ("404 (Not Found)", "403 (Forbidden)", "400 (Bad Request)")
    assert [trouble for trouble in ann.troubles if not any(e in trouble for e in expected)] == []


@pytest.mark.control("X07")
def test_nor_where_a_second_factor_is_required(new_context, tmp_path):
    with pages_server(tmp_path, **REQUIRED) as served:
        ann = on_a_small_phone(new_context, served, "de")
        assert faults_of(ann, required(ann)) == ({}, {})
        assert ann.troubles == []


@pytest.mark.control("X07")
def test_nor_on_the_way_to_an_application(new_context, tmp_path):
    with applications_server(tmp_path) as (served, states):
        ann = on_a_small_phone(new_context, served, "de")
        assert faults_of(ann, states(ann)) == ({}, {})


def on_a_small_phone(new_context, served, language):
    context = new_context(locale=language, viewport={"width": 320, "height": 640})
    return visitor(context, served, words_of(language))


def faults_of(ann, states):
    """What axe finds in each state, and the texts that are cut."""
    found, cut = {}, {}
    for name in states:
        if wrong := violations_in_both_schemes(ann.page):
            found[name] = wrong
        if texts := ann.page.evaluate(CUT):
            cut[name] = texts
    return found, cut


def press_tab_to(page, name):
    """Press Tab until the element with this name attribute or text has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        at = page.evaluate(
            "[document.activeElement.name, document.activeElement.textContent.trim()]"
        )
        if name in at:
            return
    raise AssertionError(f"{name} cannot be reached by Tab")


def type_into(ann, **fields):
    """Reach each field by Tab, unless it has the focus, and type."""
    for name, text in fields.items():
        if ann.page.evaluate("document.activeElement.name") != name:
            press_tab_to(ann.page, name)
        ann.page.keyboard.type(text)


def press(ann, name):
    """Reach a button, link or summary by Tab and press Enter."""
    press_tab_to(ann.page, name)
    ann.page.keyboard.press("Enter")


@pytest.mark.control("X07")
def test_the_whole_journey_works_by_keyboard_alone(server, new_context):
    ann = Person(new_context(), *server)
    ann.go("/register")
    type_into(ann, email=EMAIL, password=PASSWORD)
    ann.page.keyboard.press("Enter")
    ann.sees("Check your e-mail")
    ann.page.goto(ann.link())
    press(ann, "Confirm address")
    ann.at("/account")  # the browser that registered is signed in
    ann.page.context.clear_cookies(name="authsite")

    ann.go("/login")
    type_into(ann, username=EMAIL, password="wrong wrong 1")
    ann.page.keyboard.press("Enter")
    ann.sees("is incorrect")
    # The summary of mistakes has the focus: it is read out first.
    assert "is incorrect" in ann.page.evaluate("document.activeElement.innerText")
    type_into(ann, password=PASSWORD)
    ann.page.keyboard.press("Enter")
    ann.at("/account")

    ann.go("/account/security")
    press(ann, "Change: Password")
    type_into(ann, current_password=PASSWORD, password=SECOND)
    ann.page.keyboard.press("Enter")
    ann.sees("Your password has been changed")
    press(ann, "Sign out")
    ann.at("/")

    ann.go("/password/forgot")
    type_into(ann, email=EMAIL)
    ann.page.keyboard.press("Enter")
    ann.sees("Check your e-mail")
    ann.page.goto(ann.link())
    type_into(ann, password=THIRD)
    ann.page.keyboard.press("Enter")
    ann.sees("Your password has been changed")
    ann.go("/login")
    type_into(ann, username=EMAIL, password=THIRD)
    ann.page.keyboard.press("Enter")
    ann.at("/account")
    press(ann, "Delete account…")
    type_into(ann, current_password=THIRD)
    ann.page.keyboard.press("Enter")
    ann.at("/")


@pytest.mark.control("P11")
def test_password_fields_can_be_shown_pasted_into_and_filled_by_managers(server, new_context):
    ann = Person(new_context(), *server)
    ann.go("/login")
    fields = ann.page.locator("[name=password]")
    assert fields.get_attribute("autocomplete") == "current-password"
    assert ann.page.locator("[name=username]").get_attribute("autocomplete") == "username webauthn"
    ann.page.evaluate(
        "window.pasted = document.querySelector('[name=password]').dispatchEvent("
        "new ClipboardEvent('paste', {cancelable: true, bubbles: true}))"
    )
    assert ann.page.evaluate("window.pasted") is True
    ann.page.get_by_role("button", name="Show password").click()
    assert fields.get_attribute("type") == "text"
    ann.go("/register")
    assert ann.page.locator("[name=password]").get_attribute("autocomplete") == "new-password"


def test_the_login_page_is_light(server, new_context):
    """HTML, stylesheet and script: at most 30 kB over the wire, nothing from elsewhere."""
    ann = Person(new_context(), *server)
    sizes = []
    client = ann.page.context.new_cdp_session(ann.page)
    client.send("Network.enable")
    client.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    ann.go("/login")
    ann.page.wait_for_load_state("networkidle")
    assert 1000 < sum(sizes) <= 30_000
    assert ann.troubles == []
