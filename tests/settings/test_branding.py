"""The settings of links, pictures and folders."""

import pytest

from authsite.settings import urls
from tests.support.settings import accepted, message, refused, settings


def test_a_logo_may_be_elsewhere_and_an_icon_may_not():
    for text in ("logo.svg", "brand/logo.svg", "/static/logo.svg", "/logo.svg?v=2"):
        assert urls.logo(text) == urls.icon(text) == text
    assert urls.logo("https://cdn.example.org/x.png") == "https://cdn.example.org/x.png"
    refused(urls.icon, "https://cdn.example.org/x.png", "//cdn.example.org/x.png", "data:x")


@pytest.mark.parametrize(
    "text", [".hidden", "../logo.svg", "a/../b", "a//b", "a/.b", "javascript:alert(1)", "a b"]
)
def test_what_is_no_place_is_refused(text):
    for parse in (urls.logo, urls.icon, urls.terms, urls.link):
        assert not accepted(parse, text)


def test_a_link_leads_to_a_page():
    refused(urls.link, "//evil.example", "/\\evil.example", "data:text/html,x", "ftp://x.org")


def test_help_may_be_an_e_mail_address():
    assert urls.link("MAILTO:help@example.org") == "mailto:help@example.org"
    refused(urls.link, "mailto:", "mailto:help", "mailto:a@x.org?bcc=b@x.org", "mailto:A <a@x.org>")
    refused(urls.terms, "mailto:help@example.org")


def test_footer_links_are_lines_of_text_and_url():
    cfg = settings({"authsite.footer-links": "\nImprint: /imprint\n\nTerms of use: terms.pdf\n"})
    assert dict(cfg.footer_links) == {"Imprint": "/imprint", "Terms of use": "terms.pdf"}


@pytest.mark.parametrize(
    "line", ["Imprint", ": /x", "Imprint https://x.org", "A: ftp://x.org", "x" * 61 + ": /x"]
)
def test_a_line_that_is_no_link_is_named(line):
    said = message({"authsite.footer-links": f"\nOther: /other\n{line}"})
    assert "give one line `Text: URL`" in said
    assert f"this line is not: {line!r}" in said


def test_a_text_stands_once_in_the_footer():
    assert "each text once" in message({"authsite.footer-links": "A: /a\nA: /b"})


def test_folders_start_from_that_of_the_ini(tmp_path):
    cfg = settings({"__file__": str(tmp_path / "x.ini"), "authsite.static-folder": "public"})
    assert cfg.static_folder == str(tmp_path / "public")
