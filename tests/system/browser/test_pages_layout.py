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


def test_pages_fade_unless_the_reader_wants_less_motion(ann):
    ann.go("/login")
    rules = ann.page.evaluate("""() => [...document.styleSheets]
        .flatMap((sheet) => [...sheet.cssRules])
        .filter((rule) => rule.cssText.includes("@view-transition"))
        .map((rule) => rule.conditionText)""")
    assert rules == ["(prefers-reduced-motion: no-preference)"]


@pytest.mark.parametrize("width", [768, 1280])
def test_the_card_is_in_the_middle_of_a_wide_window(ann, width):
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


@pytest.mark.parametrize("width", [320, 1280])
def test_the_parts_of_a_notice_are_one_below_the_other_and_in_it(ann, width):
    """As the page after a reset has them: a sentence, a list of factors, and a link."""
    ann.page.set_viewport_size({"width": width, "height": 800})
    ann.go("/password/reset?done=1")
    boxes = ann.page.evaluate("""() => {
        const notice = document.createElement("div");
        notice.className = "notice warning";
        notice.innerHTML = `<p>These stay, and work as before:</p>
            <ul><li>Authenticator app, added on Oct 29: ${"x".repeat(80)}@example.com</li></ul>
            <p><a href="#">Remove one that you do not know</a></p>`;
        document.querySelector(".card").append(notice);
        const box = (each) => each.getBoundingClientRect();
        return [notice, ...notice.children].map((each) => [
            box(each).top, box(each).bottom, box(each).left, box(each).left + each.scrollWidth]);
    }""")
    (top, bottom, left, right), *parts = boxes
    assert len(parts) == 3
    edges = [top, *(edge for part in parts for edge in part[:2]), bottom]
    assert edges == sorted(edges)
    assert len({part[2] for part in parts}) == 1
    assert all(left < part[2] and part[3] < right for part in parts)


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
