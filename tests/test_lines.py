"""What one line of text is, and that all names, titles and reasons are read by this one rule."""

import ast
import unicodedata

import pytest

from authsite.platform.runtime.lines import NotOneLine, as_one_line, folded, one_line
from tests.support.home import CHECKOUT

ZWNJ, ZWJ, NBSP = "\u200c", "\u200d", "\u00a0"
# Where the characters of a text are looked at for another reason than that it is one line of words.
OTHER_USES = {
    "platform/denied_requests/reason.py": "escapes for operators, and ASCII for developers",
    "platform/http/return_to.py": "the path of a URL",
    "platform/http/request_facts.py": "a User-Agent, of which the rest is kept",
    "platform/mail/leases.py": "the reply of a mail server, of which the rest is kept",
    "platform/settings/provider_values.py": "a value of a URL's query",
    "platform/settings/values.py": "`printable`: paths and secrets, which stay as they are",
    "platform/command_line/shared.py": "`visible`: escapes for a terminal",
    "platform/logs.py": "escapes for the log",
    "platform/runtime/lines.py": "the rule itself",
    "platform/audit/excerpts.py": "escapes for log and audit trail",
    "sign_in/methods/provider/protocol.py": "an access token",
    "sign_in/methods/provider/id_token.py": "a subject, which is compared",
    "transfer/importing/users.py": "an id of another system, which is compared",
}


@pytest.mark.parametrize(
    "text",
    [
        f"علی{ZWNJ}رضا محمدی",
        f"ශ්{ZWJ}රී",
        f"ক্{ZWJ}ষ",
        f"👩{ZWJ}👩{ZWJ}👧",
        f"👩🏽{ZWJ}🚀",
        f"👁\ufe0f{ZWJ}🗨\ufe0f",
        "Jörg Müller-Lüdenscheidt",
        "O’Brien, Jr.",
        "李小龙",
        "𐐀𐐁",
        "🫩",  # of Unicode 16, which Python 3.11 does not know
        f"🫩{ZWJ}🔥",
    ],
)
def test_words_of_every_language_and_emojis_are_one_line(text):
    assert one_line(text) == text
    assert as_one_line(text) == text


def test_blanks_are_plain_and_none_is_at_the_ends():
    assert one_line(f" Jean{NBSP}Luc\u3000Picard\u202f") == "Jean Luc Picard"
    assert one_line("Jo\u0308rg") == "Jörg"


@pytest.mark.parametrize(
    "text", [None, "", "   ", NBSP, "\u3164", "\u2800 \u115f", "\u00ad", "\u0301"]
)
def test_what_cannot_be_seen_is_none(text):
    assert one_line(text) is None
    assert as_one_line(text) is None


@pytest.mark.parametrize(
    ("text", "character", "place"),
    [
        ("a\nb", "U+000A (LINE FEED)", 2),
        ("a\x00", "U+0000 (NULL)", 2),
        ("\x1b[31m", "U+001B (ESCAPE)", 1),
        ("a\x86", "U+0086 (CONTROL CHARACTER)", 2),
        ("a\u2028b", "U+2028 (LINE SEPARATOR)", 2),
        ("ab\u202ecd", "U+202E (RIGHT-TO-LEFT OVERRIDE)", 3),
        ("ab\u200f", "U+200F (RIGHT-TO-LEFT MARK)", 3),
        ("\u2066x", "U+2066 (LEFT-TO-RIGHT ISOLATE)", 1),
        ("a\ud800", "U+D800 (SURROGATE)", 2),
        ("a\ue000", "U+E000 (PRIVATE USE)", 2),
        ("a\U000f0000", "U+F0000 (PRIVATE USE)", 2),
        (f"{ZWJ}a", "U+200D (ZERO WIDTH JOINER)", 1),
        (f"a{ZWNJ}", "U+200C (ZERO WIDTH NON-JOINER)", 2),
        (f"a {ZWNJ}b", "U+200C (ZERO WIDTH NON-JOINER)", 3),
        (f"a{ZWJ}{ZWJ}b", "U+200D (ZERO WIDTH JOINER)", 2),
        (f"1{ZWJ}2", "U+200D (ZERO WIDTH JOINER)", 2),
    ],
)
def test_a_refusal_names_the_character_and_its_place(text, character, place):
    with pytest.raises(NotOneLine) as refused:
        one_line(text)
    assert (refused.value.character, refused.value.place) == (character, place)
    left = as_one_line(f"Ann {text} Lee")
    assert one_line(left) == left
    assert left.startswith("Ann ")


def test_every_character_alone_and_between_letters_is_taken_or_refused_and_then_stable():
    for number in range(0x11000):
        for text in (chr(number), f"a{chr(number)}b"):
            try:
                line = one_line(text)
            except NotOneLine:
                continue
            assert line is None or (one_line(line), as_one_line(line)) == (
                line,
                " ".join(line.split()),
            )
            assert unicodedata.category(chr(number)) not in ("Cc", "Cs", "Co", "Zl", "Zp")


def test_a_comparison_knows_neither_case_nor_spelling():
    assert folded("STRASSE Jo\u0308rg") == folded("straße JÖRG")
    assert folded(f"علی{ZWNJ}رضا") == folded("علیرضا")
    assert folded("Ангела ÉMILE Özgür") == "ангела émile özgür"


def test_every_other_look_at_printable_characters_has_its_reason():
    """A name, title or reason that is read without `one_line` refuses words of some languages."""
    found = {
        str(path.relative_to(CHECKOUT / "authsite"))
        for path in (CHECKOUT / "authsite").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "isprintable"
    }
    assert found == OTHER_USES.keys()
