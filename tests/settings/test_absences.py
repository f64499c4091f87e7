"""Sentences about what authsite does not have stand in docs/absent.toml alone, and are true."""

import re

import click
import pytest

from authsite.cli import authsite
from authsite.oauth.models import REGISTRABLE_TYPES
from authsite.platform.settings.definitions import DEFINITIONS
from tests.support import guides
from tests.support.absences import PAGES, ROOT, absences, with_table

DENIAL = re.compile(r"authsite (?:has no|does not have(?! to)|lacks)\b", re.IGNORECASE)
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands(group, *names):
    yield " ".join(names)
    if isinstance(group, click.Group):
        for name in group.list_commands(click.Context(group)):
            yield from commands(group.get_command(click.Context(group), name), *names, name)
    for option in group.params:
        yield from (" ".join((*names, each)) for each in option.opts)


@pytest.fixture(scope="module")
def built():
    """Where a feature would be named: commands, settings, headings of the documentation."""
    headings = [
        f"{page.name}: {line}"
        for page in TEXTS
        for line in re.findall(r"^#+ .+$", page.read_text("utf-8"), re.MULTILINE)
    ]
    settings = [each.key for each in DEFINITIONS.values()]
    return [*commands(authsite), *settings, *headings]


@pytest.mark.parametrize("absence", absences(), ids=lambda each: each.name)
def test_what_is_left_out_is_named_nowhere_in_the_code(site_with, built, absence):
    site = site_with(base_url="http://localhost", openid="on")
    routes = site.app.registry.introspector.get_category("routes")
    patterns = [each["introspectable"]["pattern"] for each in routes]
    document = site.http.get("/.well-known/openid-configuration").json
    metadata = [str(item) for item in document.items()]
    assert len(patterns) > 100
    assert len(built) > 300
    named = [each for each in (*patterns, *metadata, *built) if absence.is_named_in(each)]
    assert named == []


def test_a_word_is_found_alone_and_in_the_plural():
    saml = next(each for each in absences() if each.name == "SAML")
    assert saml.is_named_in("/v1/saml/metadata")
    assert saml.is_named_in("SAMLs")
    assert not saml.is_named_in("samling")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_table_of_a_page_is_what_make_reference_writes(page):
    assert page.read_text("utf-8") == with_table(page)


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_no_other_sentence_says_what_authsite_does_not_have(page):
    assert DENIAL.findall(page.read_text("utf-8")) == []


def test_the_concepts_name_every_type_that_a_client_can_get():
    rows = re.findall(r"^\| `([\w-]+)` \|", (ROOT / "docs/concepts.md").read_text("utf-8"), re.M)
    assert {*rows} >= {*REGISTRABLE_TYPES}
    assert guides.CHECKOUT == ROOT
