"""A typed login name is one kind of identifier at most, so it is one user at most."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authsite.sign_in.identifiers import KINDS, InvalidIdentifier, candidates, parse_identifier

ALL = ["email", "username", "phone"]


@pytest.mark.parametrize(
    ("typed", "kind", "key"),
    [
        ("Anna@Example.test", "email", "anna@example.test"),
        ("Anna", "username", "anna"),
        ("030 901820", "phone", "+4930901820"),
    ],
)
def test_a_login_name_is_recognised_by_its_looks(typed, kind, key):
    assert [(found.kind, found.key) for found in candidates(typed, ALL, "DE")] == [(kind, key)]
    assert parse_identifier(kind, typed, "DE").key == key


def test_a_kind_that_is_not_enabled_is_no_candidate():
    assert candidates("anna", ["email", "phone"]) == []
    assert candidates("anna@example.test", ["username", "phone"]) == []


@pytest.mark.parametrize("rubbish", ["", " ", "\0", "\ud800", "a@", "+1", "аdmin", "x" * 100_000])
def test_what_can_be_nothing_has_no_candidates_and_raises_nothing(rubbish):
    assert candidates(rubbish, ALL, "DE") == []


def test_the_error_of_a_bad_identifier_describes_what_to_do():
    with pytest.raises(InvalidIdentifier, match=r"name@example\.com"):
        parse_identifier("email", "anna")


def test_the_table_holds_every_kind_that_a_site_can_enable():
    assert list(KINDS) == ALL


LOOKS = st.one_of(
    st.text(max_size=30),
    st.text("aA0+@.-_ 19٤＠＋ab", max_size=14),
    st.from_regex(r"\A\+?[0-9 ()-]{3,16}[a-z@]?\Z"),
)


@pytest.mark.control("U05")
@given(LOOKS, st.sampled_from([None, "DE", "US"]))
def test_no_text_is_of_two_kinds(text, region):
    assert len(candidates(text, ALL, region)) <= 1


@pytest.mark.control("U05")
@given(LOOKS, st.sampled_from([None, "DE", "US"]))
def test_no_key_of_one_kind_can_be_typed_as_another(text, region):
    for found in candidates(text, ALL, region):
        assert candidates(found.key, ALL, region)[0].key == found.key
        assert candidates(found.display, ALL, region)[0].kind == found.kind
