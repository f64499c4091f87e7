"""docs/concepts.md: its terms are those of the glossary."""

import re

from tests.support.home import CHECKOUT


def test_every_term_of_the_concepts_is_in_the_glossary():
    glossary = (CHECKOUT / "docs/glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([^|]+) \|", glossary, re.MULTILINE)
    known = {word for row in words for word in re.sub(r" \(.*?\)", "", row).split(", ")}
    concepts = (CHECKOUT / "docs/concepts.md").read_text(encoding="utf-8")
    terms = set(re.findall(r"\*\*([a-z -]+)\*\*", concepts)) - {"revoked"}
    assert len(terms) > 10
    assert terms <= known
