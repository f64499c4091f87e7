"""How the pages look: in windows of any size, and with larger text."""

import pytest

from tests.system.browser.people import Person, pages_server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pages_server(tmp_path_factory.mktemp("layout")) as served:
        yield served


@pytest.fixture
def ann(new_context, server):
    return Person(new_context(), *server)


def test_pages_p8_pages_fade_unless_the_reader_wants_less_motion(ann):
    ann.go("/login")
    rules = ann.page.evaluate("""() => [...document.styleSheets]
        .flatMap((sheet) => [...sheet.cssRules])
        .filter((rule) => rule.cssText.includes("@view-transition"))
        .map((rule) => rule.conditionText)""")
    assert rules == ["(prefers-reduced-motion: no-preference)"]


@pytest.mark.parametrize("width", [768, 1280])
def test_pages_p2_the_card_is_in_the_middle_of_a_wide_window(ann, width):
    ann.page.set_viewport_size({"width": width, "height": 900})
    ann.go("/login")
    box = ann.page.locator(".page").evaluate("""(page) => {
        const [first, last] = [page.firstElementChild, page.lastElementChild];
        return [first.getBoundingClientRect().top, last.getBoundingClientRect().bottom];
    }""")
    assert abs(box[0] - (900 - box[1])) <= 1


def test_keep_me_signed_in_is_one_line_on_a_phone(ann):
    ann.page.set_viewport_size({"width": 360, "height": 800})
    for language in ("en", "de", "es", "fr"):
        ann.go(f"/login?lang={language}")
        span = ann.page.locator(".check span")
        assert span.evaluate("(text) => text.getClientRects().length") == 1, language
        assert span.evaluate("(text) => text.offsetHeight < 30"), language


@pytest.mark.parametrize("language", ["en", "de", "es", "fr"])
def test_text_of_twice_the_size_fits_a_small_phone(ann, language):
    ann.page.set_viewport_size({"width": 320, "height": 640})
    ann.page.add_init_script("""addEventListener("DOMContentLoaded", () => {
        document.documentElement.style.fontSize = "200%";
    })""")
    ann.go(f"/login?lang={language}")
    for path in ("/login", "/register", "/register?done=1", "/password/reset?done=1"):
        ann.go(path)
        assert ann.page.evaluate("document.documentElement.scrollWidth") == 320, path
