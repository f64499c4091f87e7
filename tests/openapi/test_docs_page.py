"""GET /docs: Swagger UI on the OpenAPI document, from our own files alone."""

import hashlib
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from bs4 import BeautifulSoup

import authsite
from tests.support.site import WEB

SWAGGER_UI = Path(authsite.__file__).parent / "static" / "swagger-ui"


@pytest.fixture
def page(site):
    return soup(site)


def soup(site):
    return BeautifulSoup(site.http.get("/docs").text, "html.parser")


def test_the_page_loads_nothing_from_elsewhere(site_with):
    site = site_with(**WEB)
    page = soup(site)
    names = ("src", "href", "action", "data-document")
    loaded = [tag[name] for name in names for tag in page.find_all(**{name: True})]
    assert len(loaded) > 5
    for address in loaded:
        assert urlsplit(address).netloc == "", address
        assert address.startswith("/"), address
        assert not address.startswith("//"), address
        expected = 302 if address == "/" else 200
        assert site.http.get(address).status_int == expected


def test_nothing_in_the_page_needs_a_policy_for_inline_code(page):
    assert all(script["src"] and not script.text for script in page.find_all("script"))
    assert not page.find_all(["style", "iframe", "object", "base"])
    attributes = {name for tag in page.find_all(True) for name in tag.attrs}
    assert "style" not in attributes
    assert not [name for name in attributes if name.startswith("on")]


def test_the_stylesheets_load_nothing_further(site, page):
    links = page.find_all("link", rel="stylesheet")
    assert len(links) == 2
    for link in links:
        styles = site.http.get(link["href"]).text
        assert set(re.findall(r"url\(\W?(\w+:)?", styles)) <= {"data:"}
        assert "@import" not in styles


def test_the_page_carries_the_policy_that_forbids_inline_code(site):
    answer = site.http.get("/docs")
    assert answer.headers["Content-Type"].lower() == "text/html; charset=utf-8"
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_signing_in_is_offered_where_the_web_client_has_its_credentials(site, site_with):
    assert soup(site).find("form", id="sign-in") is None
    form = soup(site_with(**WEB)).find("form", id="sign-in")
    assert form["method"] == "post"
    assert {field["name"] for field in form.find_all("input")} == {"username", "password"}


def test_no_secret_of_a_client_is_in_the_page_or_asked_for(site_with):
    text = site_with(**WEB).http.get("/docs").text
    assert "secret" not in text
    assert not [value for value in WEB.values() if value in text]


def test_the_page_names_the_document_for_programs_and_for_readers_without_scripts(site, page):
    [link] = page.find("noscript").find_all("a")
    assert link["href"] == page.find(id="viewer")["data-document"] == "/v1/openapi.json"


def test_a_base_url_with_a_path_is_where_everything_stands(site_with):
    site = site_with(base_url="https://example.org/auth", **WEB)
    page = soup(site)
    viewer = page.find(id="viewer")
    assert viewer["data-base"] == "/auth"
    assert viewer["data-document"] == "/auth/v1/openapi.json"
    assert all(tag["src"].startswith("/auth/authsite/static/") for tag in page.find_all("script"))
    document = site.http.get("/auth/v1/openapi.json").json
    assert document["servers"] == [{"url": "https://example.org/auth"}]


def test_the_viewer_is_the_recorded_release_and_complete():
    lines = (SWAGGER_UI / "SHA256SUMS").read_text().splitlines()
    recorded = {name: digest for digest, name in (line.split() for line in lines)}
    present = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in SWAGGER_UI.iterdir()
        if path.name != "SHA256SUMS"
    }
    assert present == recorded
    assert {"swagger-ui-bundle.js", "swagger-ui.css", "LICENSE", "NOTICE"} <= set(present)
