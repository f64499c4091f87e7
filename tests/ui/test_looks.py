"""What the settings font, corner-radius and the links for each language change on pages."""

import pytest

from tests.support.mails import text_of
from tests.support.pages import submit


def stylesheet(site, name):
    links = site.http.get("/docs" if name == "docs" else "/login").html.select(
        "link[rel=stylesheet]"
    )
    return site.http.get(
        next(link["href"] for link in links if f"/{name}.css" in link["href"])
    ).text


@pytest.mark.parametrize("name", ["authsite", "docs"])
def test_p3_font_and_radius_are_properties_of_the_stylesheets(site_with, name):
    site = site_with(font="Inter, Segoe UI, sans-serif", corner_radius="4px")
    css = stylesheet(site, name)
    assert css.rstrip().endswith(':root{--font:"Inter", "Segoe UI", sans-serif;--radius:4px}')
    assert "--radius:4px" not in stylesheet(site_with(), name)


def test_the_policy_of_pages_stays_strict(site_with):
    site = site_with(font="Inter", corner_radius="0")
    policy = site.http.get("/login").headers["Content-Security-Policy"]
    assert "style-src 'self';" in policy
    assert "font-src" not in policy


def test_pages_and_mails_have_the_links_of_their_language(site_with):
    site = site_with(
        base_url="http://localhost",
        footer_links="Imprint: /imprint",
        support_url="/help",
        **{"footer_links.de": "Impressum: /impressum", "support_url.de": "/hilfe"},
    )

    def links(language):
        page = site.http.get("/login", headers={"Accept-Language": language})
        return {link.text: link["href"] for link in page.html.select("footer a")}

    assert links("en") == {"Imprint": "/imprint", "Help": "/help"}
    assert links("de") == {"Impressum": "/impressum", "Hilfe": "/hilfe"}
    assert links("fr")["Imprint"] == "/imprint"
    site.user()
    submit(site, "/password/forgot", headers={"Accept-Language": "de"}, email="ann@example.com")
    [mail] = site.mails()
    assert "Impressum: http://localhost/impressum" in text_of(mail)
    assert "http://localhost/hilfe" in text_of(mail)
