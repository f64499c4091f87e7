"""Every reason for which a request is denied has its texts, for each of its readers."""

import ast
import re
from enum import Enum
from pathlib import Path

import pytest

import authsite
from authsite.platform.denied_requests.reason import MAX_DEVELOPER, DenialReason
from authsite.platform.denied_requests.service import TABLES
from authsite.platform.i18n import translate
from authsite.platform.registrations import Registered
from tests.denied_requests.cases import CASES, UNREACHABLE
from tests.support.error_reference import errors

TOP = Path(authsite.__file__).parent
PROTOCOL = {
    "authsite.oauth.errors",
    "authsite.oauth.device.errors",
    "authsite.oauth.registration_endpoint.errors",
}
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


def test_every_reason_has_a_text_for_the_operator(tables):
    for name, each in rows(tables):
        assert isinstance(each, Enum)
        assert len(each.meaning) > 10, (name, each)


def test_every_reason_has_a_text_for_the_person_and_one_for_the_developer(tables):
    for name, each in rows(tables):
        if isinstance(each, DenialReason):
            assert translate(each.person).endswith((".", "}")), (name, each)
            assert each.developer, (name, each)
            assert each.status >= 200
            assert each.error


def test_a_description_is_one_that_an_oauth_response_may_have(tables):
    """RFC 6749, section 5.2: ASCII without quotes and backslashes; and no line is cut."""
    for name, each in rows(tables):
        if isinstance(each, DenialReason):
            given = dict.fromkeys(VALUE.findall(each.developer), "x" * 20)
            text = each.description(given)
            assert len(text) <= MAX_DEVELOPER, (name, each)
            assert "${" not in text
            assert text.isascii()
            assert not set('"\\') & set(text)


def test_a_description_is_cleaned_and_cut():
    from authsite.oauth.token_reasons import TokenReason

    text = TokenReason.SCOPE.description({"refused": 'a"\\é\u202e\x1b' + "b" * 500})
    assert len(text) == MAX_DEVELOPER
    assert text.isascii()
    assert text.isprintable()
    assert not set('"\\') & set(text)


def test_every_reason_is_tried_through_the_whole_stack(tables):
    known = {f"{name}.{each.value}" for name, each in rows(tables) if is_tried(name)}
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


def is_tried(table):
    """Whether the requests are in `cases`; the others have tests elsewhere."""
    return table not in ("login", "passkey", "provider", "provider_address")


def _tables(table):
    for each in table.__subclasses__():
        yield each
        yield from _tables(each)
