"""Every page in the pseudo-locale, which has the longest texts: nothing is cut or overflows.

test_accessibility.py has German, whose words are the longest; `make screenshots` has all languages.
"""

import re

from tests.support.languages import PSEUDO, pseudo_package, words_of
from tests.system.browser.gallery import CUT, SETTINGS, gallery, visitor
from tests.system.browser.people import pages_server

NAMES = re.compile(r"@|^authsite:|^web$")  # addresses, groups and apps are not translated
DIRECTION = "[document.documentElement.dir, getComputedStyle(document.body).direction]"


def test_no_page_is_too_narrow_for_its_texts(new_context, tmp_path):
    with pages_server(tmp_path, pseudo_package(tmp_path / "package"), **SETTINGS) as served:
        context = new_context(locale=PSEUDO, viewport={"width": 360, "height": 640})
        ann = visitor(context, served, words_of(PSEUDO))
        cut, untranslated, directions = {}, {}, set()
        for name in gallery(ann):
            ann.page.wait_for_load_state()  # with its stylesheet
            if found := ann.page.evaluate(CUT):
                cut[name] = found
            assert ann.page.locator("html").get_attribute("lang") == PSEUDO
            directions.add(tuple(ann.page.evaluate(DIRECTION)))
            texts = ann.page.locator("h1:visible, main button:visible").all_inner_texts()
            if english := [text for text in texts if "[" not in text and not NAMES.search(text)]:
                untranslated[name] = english
        assert (cut, untranslated) == ({}, {})
        assert directions == {("rtl", "rtl")}
