"""The rules for the HTML and the text of every mail: what Outlook, Gmail and phones need."""

import re
from functools import cache
from html.parser import HTMLParser

import pytest
from bs4 import BeautifulSoup, Comment

from authsite.platform.i18n import direction
from authsite.platform.runtime.catalogs import LANGUAGES
from tests.mail.test_mails import LINK, MAILS, mail
from tests.support.mails import html_of, text_of

EVERY = [(kind, language) for kind in MAILS for language in LANGUAGES]
OTHER = "https://a.org/other?token=x&y=1"
FOOTER = {
    "footer-links": "\n  Imprint: https://a.org/imprint\n  Privacy: https://a.org/privacy",
    "support-url": "mailto:help@example.org",
}
FULL_SIZE = 20_000  # octets; Gmail cuts a mail at 102 kB
OUTLOOK_PARTS = re.compile(r"<!--\[if mso\]>|<!\[endif\]-->")
VOID = {"meta", "img", "br"}
NOT_IN_PARAGRAPHS = {"table", "div", "p", "h1"}  # the parser of HTML closes the paragraph there
FILLER = "\u034f\u200c\u00a0"


class Nesting(HTMLParser):
    """Collects the tags that are not closed where they should be."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong = [], []

    def handle_starttag(self, tag, attrs):
        if tag in NOT_IN_PARAGRAPHS and "p" in self.open:
            self.wrong.append(f"<{tag}> in <p>")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")


@cache  # to make one takes 30 ms, and nothing here changes one
def full(kind, language="en", **more):
    """A mail with everything that it can have."""
    return mail(kind, language=language, other=OTHER, **FOOTER | more)


def page_of(made):
    return BeautifulSoup(html_of(made), "html.parser")


def outlook(html):
    """The HTML as Outlook for Windows reads it: the parts [if mso] are not comments."""
    return OUTLOOK_PARTS.sub("", html)


def preheader(made):
    """The hidden sentence, and the invisible characters after it."""
    [hidden] = page_of(made).select(".preheader")
    assert "display: none" in hidden["style"]
    assert hidden.find_previous_sibling() is None  # first in the body
    sentence, *filler = hidden.get_text().partition(FILLER)
    return " ".join(sentence.split()), "".join(filler)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_mail_has_a_preheader_of_its_own(language):
    found = {kind: preheader(full(kind, language))[0] for kind in MAILS}
    assert all(len(sentence) > 20 for sentence in found.values()), found
    assert len(set(found.values())) == len(MAILS)
    for kind, sentence in found.items():
        assert sentence != full(kind, language)["Subject"]


@pytest.mark.parametrize("kind", MAILS)
def test_the_preheader_is_translated_and_followed_by_invisible_characters(kind):
    (english, filler), (german, _same) = preheader(full(kind)), preheader(full(kind, "de"))
    assert english != german
    assert filler.count(FILLER) > 80
    assert set(filler) == {*FILLER, "\n"}


def test_the_preheader_of_a_notice_without_a_link_promises_none():
    assert "take the change back" in preheader(mail("email_replaced"))[0]
    assert "contact the people" in preheader(mail("email_replaced", link=None))[0]


@pytest.mark.parametrize(("kind", "language"), EVERY)
def test_every_table_is_for_layout_and_every_tag_is_closed_also_in_outlook(kind, language):
    html = html_of(full(kind, language))
    for seen in (html, outlook(html)):
        tables = BeautifulSoup(seen, "html.parser").find_all("table")
        assert tables
        assert {table.get("role") for table in tables} == {"presentation"}
        nesting = Nesting()
        nesting.feed(seen)
        assert (nesting.wrong, nesting.open) == ([], [])


@pytest.mark.parametrize("kind", MAILS)
def test_the_frame_is_600_wide_in_outlook_and_as_wide_as_the_screen_elsewhere(kind):
    html = html_of(full(kind))
    assert BeautifulSoup(outlook(html), "html.parser").select_one("table[width='600']")
    page = BeautifulSoup(html, "html.parser")
    assert page.select_one("table[width='600']") is None
    assert "max-width: 600px" in page.select_one("td.card").find_parent("div")["style"]
    comments = page.find_all(string=lambda text: isinstance(text, Comment))
    assert all(text.startswith("[if mso]") for text in comments)


@pytest.mark.parametrize("kind", MAILS)
def test_the_button_is_a_cell_that_outlook_draws(kind):
    cell = page_of(full(kind, **{"accent-color": "#fc0"})).select_one("a.button").parent
    assert (cell.name, cell["bgcolor"]) == ("td", "#fc0")
    assert "border: 1px solid" in cell["style"]
    assert "mso-padding-alt: 14px 24px" in cell["style"]


@pytest.mark.parametrize(("language", "written"), [("en", "ltr"), ("de", "ltr"), ("ar", "rtl")])
def test_language_and_direction_stand_on_the_page_and_on_what_webmail_keeps_of_it(
    language, written
):
    page = page_of(mail("reset", language=language))
    for tag in (page.html, page.body.find("table")):
        assert (tag["lang"], tag["dir"]) == (language, written)
    assert direction(language) == written


@pytest.mark.parametrize(("kind", "language"), EVERY)
def test_both_parts_have_the_same_links_in_the_same_order(kind, language):
    made = full(kind, language)
    html = list(dict.fromkeys(tag["href"] for tag in page_of(made).find_all(href=True)))
    text = re.findall(r"https?://\S+|\S+@example\.org$", text_of(made), re.MULTILINE)
    assert text == [url.removeprefix("mailto:") for url in html]
    assert LINK in text
    assert "help@example.org" in text


@pytest.mark.parametrize(("kind", "language"), EVERY)
def test_the_text_has_short_lines_links_on_lines_of_their_own_and_no_blanks_at_the_end(
    kind, language
):
    for made in (full(kind, language), mail(kind, language=language, link=None)):
        text = text_of(made)
        body, footer = text.split("\n-- \n")  # RFC 3676, section 4.3
        for line in (*body.splitlines(), *footer.splitlines()):
            assert line == line.rstrip()
            assert len(line) <= 76 or line in (LINK, OTHER)
        assert all(" " not in line for line in body.splitlines() if "://" in line)
        assert "\n\n\n" not in text
        assert text.endswith("\n")
        assert not text.endswith("\n\n")


@pytest.mark.parametrize(("kind", "language"), EVERY)
def test_no_mail_is_large(kind, language):
    assert len(full(kind, language).as_bytes()) < FULL_SIZE


@pytest.mark.control("M03")
@pytest.mark.parametrize(("kind", "language"), EVERY)
def test_markup_in_a_value_is_text(kind, language):
    made = full(
        kind, language, name='Ann "A&B" Lee', link='https://a.org/"><u>x</u>',
        **{"site-name": 'Sea <u>& "Sons"</u>', "footer-links": "<u>: https://a.org/imprint"},
    )  # fmt: skip
    page = page_of(made)
    assert page.find_all(["u", "script"]) == []
    assert 'Ann "A&B" Lee' in page.get_text()
    assert page.select_one("a.button")["href"] == 'https://a.org/"><u>x</u>'
    for tag in page.find_all(href=True):
        assert set(tag.attrs) <= {"href", "style", "class"}
