"""What a site puts on our pages and mails: links, a logo, an icon."""

import pytest
from bs4 import BeautifulSoup

from tests.support.mails import html_of, put, text_of
from tests.support.pages import sign_in

LINKS = "\n  Imprint: https://example.org/imprint?a=1&b=2\n  Privacy & data: /privacy\n"
EXPECTED = [
    ("Imprint", "https://example.org/imprint?a=1&b=2"),
    ("Privacy & data", "/privacy"),
    ("Help", "mailto:help@example.org"),
]


@pytest.fixture
def branded(site_with):
    return site_with(footer_links=LINKS, support_url="mailto:help@example.org")


def footer(page):
    return [(link.text, link["href"]) for link in page.html.select("footer a")]


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/?done=signed-out",
            "/login",
            "/register",
            "/register?done=1",
            "/password/forgot",
            "/password/reset",
        ),
        *("/email/link", "/email/verify", "/logout", "/app", "/docs", "/nowhere"),
    ],
)
def test_the_links_are_on_every_page_errors_too(branded, path):
    assert footer(branded.http.get(path, status="*")) == EXPECTED


def test_the_links_are_on_the_account_page(branded):
    branded.user()
    sign_in(branded)
    assert footer(branded.http.get("/account")) == EXPECTED


def test_without_links_there_is_no_footer(site):
    assert site.http.get("/login").html.find("footer") is None


def test_help_is_in_the_language_of_the_page(branded):
    page = branded.http.get("/login", headers={"Accept-Language": "de"})
    assert footer(page)[-1] == ("Hilfe", "mailto:help@example.org")


def test_the_links_are_in_both_parts_of_a_mail_with_their_full_addresses(branded):
    user = branded.user()
    put(branded, user_id=user.id, base_urls=("https://id.example.org/auth",))
    [mail] = branded.mails()
    links = BeautifulSoup(html_of(mail), "html.parser").find_all("a")[-3:]
    assert [(link.text, link["href"]) for link in links] == [
        EXPECTED[0],
        ("Privacy & data", "https://id.example.org/privacy"),
        EXPECTED[2],
    ]
    assert (
        text_of(mail)
        .replace("\r", "")
        .endswith(
            "\n\nImprint: https://example.org/imprint?a=1&b=2"
            "\nPrivacy & data: https://id.example.org/privacy\nHelp: help@example.org\n"
        )
    )


def test_a_file_of_our_own_is_linked_in_mails_below_the_base_url(site_with, tmp_path):
    (tmp_path / "wide.png").write_text("x")
    site = site_with(
        static_folder=str(tmp_path), site_logo="wide.png", footer_links="Terms: wide.png"
    )
    user = site.user()
    put(site, user_id=user.id, base_urls=("https://id.example.org/auth",))
    page = BeautifulSoup(html_of(site.mails()[0]), "html.parser")
    url = "https://id.example.org/auth/authsite/files/wide.png"
    assert page.find("img")["src"] == url
    assert page.find_all("a")[-1]["href"] == url


def test_a_logo_stands_for_letter_and_name_and_is_not_the_icon(site_with):
    page = site_with(site_logo="/static/wide.svg", site_name="Sea").http.get("/login").html
    assert page.select_one(".mark") is None
    assert page.select_one(".brand img")["alt"] == "Sea"
    assert page.select_one(".brand").text == ""
    assert "wide.svg" not in page.select_one("link[rel=icon]")["href"]


@pytest.mark.parametrize("path", ["/login", "/docs"])
def test_the_icon_is_that_of_the_setting(site_with, path):
    page = site_with(site_icon="/static/icon.png").http.get(path).html
    assert page.select_one("link[rel=icon]")["href"] == "/static/icon.png"


def test_without_an_icon_it_is_the_first_letter_on_the_site_s_color(site_with):
    site = site_with(site_name="<sea", accent_color="#ffd400")
    icon = site.http.get(site.http.get("/login").html.select_one("link[rel=icon]")["href"])
    assert icon.headers["Content-Type"] == "image/svg+xml"
    text = BeautifulSoup(icon.text, "html.parser").find("text")
    assert (text.text, text["fill"]) == ("<", "#000000")
    assert 'fill="#ffd400"' in icon.text
