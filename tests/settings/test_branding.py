"""The settings of links, pictures and folders."""

import pytest

from authsite.platform.settings import urls, values
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


@pytest.mark.parametrize(
    ("text", "css"),
    [
        ("Inter", '"Inter"'),
        ("Inter, Segoe UI, sans-serif", '"Inter", "Segoe UI", sans-serif'),
        ("'Source  Sans 3', System-UI", '"Source Sans 3", system-ui'),
    ],
)
def test_a_font_is_a_list_of_names_as_css_writes_it(text, css):
    assert values.font(text) == css


@pytest.mark.parametrize(
    "text",
    ['x";}body{display:none', "a;b", "a{b", "a}b", "url(x)", "a\\b", "a,,b", "", "é", "a/*b"],
)
def test_what_could_end_the_declaration_is_no_font(text):
    assert not accepted(values.font, text)


def test_a_radius_is_a_length():
    for text, css in (("0", "0px"), ("4px", "4px"), ("0.75rem", "0.75rem"), ("24PX", "24px")):
        assert values.corner_radius(text) == css
    refused(values.corner_radius, "25px", "1.6rem", "4", "-1px", "1em", "50%", "4px;x", "1e1px", "")


def test_a_bad_font_or_radius_stops_the_start_with_what_is_accepted():
    said = message({"authsite.font": "a;b", "authsite.corner-radius": "9em"})
    assert "authsite.font" in said
    assert "separated by commas" in said
    assert "give 0, or a length up to 24px or 1.5rem" in said


def test_links_have_a_value_for_each_language_and_one_for_all_others():
    cfg = settings(
        {
            "authsite.footer-links": "Imprint: /imprint",
            "authsite.footer-links.de": "Impressum: /impressum",
            "authsite.support-url": "/help",
            "authsite.support_url_FR": "/aide",
        }
    )
    assert dict(cfg.localized("footer_links", "de")) == {"Impressum": "/impressum"}
    assert dict(cfg.localized("footer_links", "es")) == {"Imprint": "/imprint"}
    assert cfg.localized("support_url", "fr") == "/aide"
    assert cfg.localized("support_url", "de") == "/help"
    assert cfg.localized("terms_url", "de") is None


def test_a_bad_value_for_one_language_is_named_by_its_key():
    said = message({"authsite.terms-url": "/terms", "authsite.terms-url.de": "ftp://x"})
    assert "authsite.terms-url.de" in said


def test_a_language_that_does_not_exist_is_named_with_those_that_do():
    assert "there is no language it; there are en, de" in message({"authsite.footer-links.it": "x"})


def test_terms_for_one_language_need_terms_for_the_others():
    said = message({"authsite.terms-url.de": "/agb"})
    assert "authsite.terms-url" in said
    assert "set it for all other languages, too" in said


def test_the_registration_page_asks_only_for_identifiers_that_are_enabled():
    both = {
        "authsite.login-identifiers": "email phone",
        "authsite.registration-fields": "phone name",
    }
    assert settings(both).registration_fields == ("phone", "name")
    said = message({"authsite.registration-fields": "name username phone"})
    assert "add username and phone to authsite.login-identifiers" in said
    assert "give some of name, username and phone" in message(
        {"authsite.registration-fields": "age"}
    )
