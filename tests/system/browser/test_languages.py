"""Every page in every language, and in the pseudo-locale: nothing is cut, nothing overflows."""

import pytest

from tests.support.languages import PSEUDO, pseudo_package, words_of
from tests.system.browser.gallery import ELSEWHERE, SETTINGS, gallery
from tests.system.browser.people import Person, pages_server

# Buttons whose text is wider than they are, and whatever makes the page scroll sideways.
CUT = """[
  ...[...document.querySelectorAll('button, .button, summary')]
    .filter((each) => each.scrollWidth > each.clientWidth + 1)
    .map((each) => each.innerText),
  ...(document.documentElement.scrollWidth > innerWidth ? ['the page'] : []),
]"""
DIRECTION = "[document.documentElement.dir, getComputedStyle(document.body).direction]"


# German has the longest words, the pseudo-locale the longest texts; `make screenshots` has all.
@pytest.mark.parametrize("language", ["de", PSEUDO])
def test_no_page_is_too_narrow_for_its_texts(language, new_context, tmp_path):
    variables = pseudo_package(tmp_path / "package") if language == PSEUDO else {}
    with pages_server(tmp_path, variables, **SETTINGS) as served:
        context = new_context(locale=language, viewport={"width": 360, "height": 640})
        ann = Person(context, *served, ELSEWHERE, words=words_of(language))
        cut, untranslated, directions = {}, {}, set()
        for name in gallery(ann):
            ann.page.wait_for_load_state()  # with its stylesheet
            if found := ann.page.evaluate(CUT):
                cut[name] = found
            assert ann.page.locator("html").get_attribute("lang") == language
            directions.add(tuple(ann.page.evaluate(DIRECTION)))
            texts = ann.page.locator("h1:visible, main button:visible").all_inner_texts()
            if language == PSEUDO and (english := [text for text in texts if "[" not in text]):
                untranslated[name] = english
        assert (cut, untranslated) == ({}, {})
        direction = "rtl" if language == PSEUDO else "ltr"
        assert directions == {(direction, direction)}
