"""Every reason for which a request is denied has its texts, for each of its readers."""

import ast
import re
from pathlib import Path

import pytest
from pyramid.i18n import TranslationString

import authsite
from authsite.platform.denied_requests.reason import MAX_DEVELOPER, DenialReason
from authsite.platform.denied_requests.service import TABLES
from authsite.platform.http.error_bodies import oauth_body
from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import translate
from authsite.platform.registrations import Registered
from authsite.platform.runtime.catalogs import LANGUAGES, SOURCE_LANGUAGE
from tests.denied_requests.cases import CASES, UNREACHABLE
from tests.support.error_reference import errors

TOP = Path(authsite.__file__).parent
PROTOCOL = {
    "authsite.oauth.errors",
    "authsite.oauth.device.service",
    "authsite.oauth.registration_endpoint.errors",
}
QUIET = ("login", "passkey", "provider", "provider_address")
"""The tables whose text for the developer no response has: it would tell what there is."""
VALUE = re.compile(r"\$\{(\w+)\}")


@pytest.fixture
def tables(site):
    return TABLES.of(site.app.registry["authsite"])


def rows(tables):
    return [(name, each) for name, table in tables.items() for each in table]


def test_all_tables_are_registered(tables):
    assert isinstance(TABLES, Registered)
    defined = {table for table in _tables(DenialReason) if len(table)}
    assert defined <= set(tables.values())


def test_every_reason_has_a_text_for_each_of_its_readers(tables):
    for name, each in rows(tables):
        assert isinstance(each, DenialReason)
        assert len(each.meaning) > 10, (name, each)
        assert translate(each.person).endswith((".", "}")), (name, each)
        assert each.developer, (name, each)
        assert each.status >= 200
        assert each.error


def test_what_only_the_operator_reads_is_a_text_of_its_own(tables):
    quiet = {name for name, each in rows(tables) if not each.in_answer}
    assert quiet == set(QUIET)
    for name in QUIET:
        for each in tables[name]:
            assert not each.in_answer, each
            assert each.developer not in (str(each.person), each.meaning), each


@pytest.mark.parametrize("name", QUIET)
def test_what_only_the_operator_reads_is_in_no_body(tables, name):
    """Not even where the text for the person is not ASCII, in place of which others have theirs."""
    for each in tables[name]:
        error = ApiError("é")
        error.why = each
        assert oauth_body(error, "id")["error_description"] == "é"


def test_a_description_is_one_that_an_oauth_response_may_have(tables):
    """RFC 6749, section 5.2: ASCII without quotes and backslashes; and no line is cut."""
    for name, each in rows(tables):
        sample = dict.fromkeys(VALUE.findall(each.developer), "x" * 20)
        text = each.description(sample)
        assert len(text) <= MAX_DEVELOPER, (name, each)
        assert "${" not in text
        assert text.isascii()
        assert not set('"\\') & set(text)
        assert each.in_answer or text == each.developer, (name, each)  # nothing had to be left out


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each != SOURCE_LANGUAGE])
def test_every_text_of_a_page_is_translated(tables, language):
    for name, each in rows(tables):
        if isinstance(each.person, TranslationString):
            assert translate(each.person, language) != translate(each.person), (name, each)


def test_a_description_is_cleaned_and_cut():
    from authsite.oauth.reasons import TokenReason

    text = TokenReason.SCOPE.description({"refused": 'a"\\é\u202e\x1b' + "b" * 500})
    assert len(text) == MAX_DEVELOPER
    assert text.isascii()
    assert text.isprintable()
    assert not set('"\\') & set(text)


def test_every_reason_is_tried_through_the_whole_stack(tables):
    known = {f"{name}.{each.value}" for name, each in rows(tables)}
    assert known - set(UNREACHABLE) == set(CASES)
    assert set(UNREACHABLE) <= known


def raised_without_reason():
    """``raise InvalidGrant`` and the like: errors that get their reason where they are raised."""
    protocol = [each for each in errors() if each.__module__ in PROTOCOL]
    for path in TOP.glob("oauth/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Raise) or node.exc is None:
                continue
            bare = node.exc
            if isinstance(bare, ast.Call) and not bare.args and not bare.keywords:
                bare = bare.func
            name = getattr(bare, "id", "")
            found = [each for each in protocol if each.__name__ == name]
            if any(each.why is None and each.noted for each in found):
                yield f"{path.relative_to(TOP)}:{node.lineno} {name}"


def test_no_error_of_an_oauth_endpoint_is_raised_without_a_reason():
    assert list(raised_without_reason()) == []


def _tables(table):
    for each in table.__subclasses__():
        yield each
        yield from _tables(each)
