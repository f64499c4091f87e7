"""docs/branding.md and examples/branding: they are true, and the pictures stay small."""

import re
from pathlib import Path

import pytest

from tests.system.browser.branding import example_settings

ROOT = Path(__file__).resolve().parents[2]
DOCS = (ROOT / "docs/branding.md").read_text(encoding="utf-8")


@pytest.fixture
def example(site_with):
    return site_with(**{name: text.strip() for name, text in example_settings().items()})


@pytest.mark.parametrize("path", ["/login", "/register", "/nowhere", "/docs"])
def test_the_example_brands_its_pages(example, path):
    page = example.http.get(path, status="*").html
    assert [link.text for link in page.select("footer a")] == ["Imprint", "Privacy", "Help"]
    assert page.select_one("link[rel=icon]")["href"] == "/authsite/files/icon.svg"


def test_the_example_s_files_are_all_there(example):
    page = example.http.get("/login").html
    assert "Harbor Road" in page.text
    found = [page.select_one(".brand img")["src"]]
    found += [link["href"] for link in page.select("link")]
    for path in found:
        example.http.get(path, status=200)


def test_the_documentation_shows_the_example():
    ini = (ROOT / "examples/branding/branding.ini").read_text(encoding="utf-8")
    for line in re.findall(r"^(authsite\.\S+ = \S.*)$", DOCS, re.MULTILINE):
        assert line in ini
    layout = (ROOT / "examples/branding/templates/layout.jinja2").read_text(encoding="utf-8")
    for line in re.search(r"```jinja\n(.*?)```", DOCS, re.DOTALL)[1].splitlines():
        assert line.strip("{}% endblock-") in layout


def test_the_pictures_exist_and_are_small():
    pages = [ROOT / "README.md", ROOT / "mkdocs.yml", *(ROOT / "docs").glob("*.md")]
    text = "".join(path.read_text(encoding="utf-8") for path in pages)
    shown = set(re.findall(r"\bpictures/([\w-]+\.(?:png|svg))", text))
    pictures = list((ROOT / "docs/pictures").iterdir())
    assert shown == {path.name for path in pictures}
    assert sum(path.stat().st_size for path in pictures) < 400_000


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"`((?:\w+/)?\w+\.(?:jinja2|html|txt))`", DOCS)))
)
def test_every_template_that_the_documentation_names_exists(name):
    folder = ROOT / "authsite/templates"
    assert (folder / name).exists() or (folder / "mail" / name).exists()


def test_every_value_of_a_page_is_documented(site):
    from pyramid.scripting import prepare

    from authsite.platform.http.rendering import page_values

    with prepare(registry=site.app.registry) as environment:
        given = set(page_values(environment["request"])) - {"gettext", "ngettext"}
    rows = "".join(re.findall(r"^\| (`[^|]+) \|", DOCS, re.MULTILINE))
    assert given <= set(re.findall(r"`(\w+)`", rows))
