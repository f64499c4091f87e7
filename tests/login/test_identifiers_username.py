"""A username is one word in one alphabet that nothing else can be mistaken for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authsite.sign_in.identifiers import InvalidIdentifier
from authsite.sign_in.identifiers import normalize_username as normalize
from tests.support.timing import within


def code(typed: str) -> str:
    with pytest.raises(InvalidIdentifier) as raised:
        normalize(typed)
    return raised.value.code


@pytest.mark.control("U03")
@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("anna", "anna"),
        ("  Anna_Lee-7 ", "anna_lee-7"),
        ("4nna", "4nna"),
        ("ａｎｎａ", "anna"),
        ("\u212aelvin", "kelvin"),
        ("Jo\u0308rg", "jörg"),
        ("ÉLODIE", "élodie"),
        ("наташа", "наташа"),
        ("Ελένη", "ελένη"),
        ("דוד42", "דוד42"),
        ("たなか", "たなか"),
        ("田中さくら", "田中さくら"),
        ("佐々木", "佐々木"),
        ("サーバー", "サーバー"),
        ("tanaka田中", "tanaka田中"),
        ("김철수", "김철수"),
        ("a" * 64, "a" * 64),
    ],
)
def test_a_name_in_one_alphabet_is_taken_case_mapped(typed, key):
    found = normalize(typed)
    assert (found.kind, found.key, found.display) == ("username", key, key)


@pytest.mark.control("U03")
@pytest.mark.parametrize(
    "typed",
    [
        "аdmin",
        "pаypal",
        "annα",
        "аннаa",
        "たなか김",
        "наташа田中",
    ],
)
def test_two_alphabets_in_one_name_are_an_error(typed):
    assert code(typed) == "invalid"


@pytest.mark.control("U03")
@pytest.mark.parametrize(
    "typed",
    [
        "admin\u200b",
        "ad\u202emin",
        "an\u00adna",
        "an na",
        "an\0na",
        "an\nna",
        "anna\ud800",
        "anna@example.test",
        "anna＠example",
        "@anna",
        "<anna>",
        "an/na",
        "+anna",
        "o'neil",
        "ﬁona",
        "anna\N{GRINNING FACE}",
        "12345678",
        "4930901820",
        "030-901.820",
        "+4930901820",
        "٠١٢٣٤٥",
        "१२३४",
        "...",
        "ab",
        "a" * 65,
    ],
)
def test_what_may_be_something_else_or_cannot_be_seen_is_refused(typed):
    assert code(typed) == "invalid"


@pytest.mark.control("U03")
@pytest.mark.parametrize(
    "typed", ["admin", "ADMIN", "Root", "support", "ａｄｍｉｎ", "ad.min", "_root_"]
)
def test_a_reserved_name_is_an_error(typed):
    assert code(typed) == "not_allowed"


def test_a_name_that_only_contains_a_reserved_one_is_taken():
    assert normalize("rooted").key == "rooted"
    assert normalize("admin7").key == "admin7"


def test_an_empty_name_is_required_and_a_long_one_too_long():
    assert code(" ") == "required"
    assert code("a" * 321) == "too_long"


@given(st.text(min_size=3, max_size=70))
def test_what_is_accepted_is_its_own_spelling(text):
    try:
        found = normalize(text)
    except InvalidIdentifier:
        return
    assert normalize(found.key) == found
    assert "@" not in found.key


@pytest.mark.control("U11")
@pytest.mark.parametrize(
    "evil", ["a" * 100_000, "\u0315\u0300" * 50_000, "אa" * 50_000, "·" * 100_000]
)
def test_a_hundred_thousand_characters_are_refused_at_once(evil):
    normalize("warm-up")
    for typed in (evil, evil[:320]):
        assert within(lambda typed=typed: code(typed), 0.05) < 0.05


@pytest.mark.parametrize(
    "typed",
    [
        "6f9619ff8b864d01b42d00cf4fc964ff",
        "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
        "6F9619FF.8B86.4D01.B42D.00CF4FC964FF",
    ],
)
def test_l13_a_name_that_looks_like_an_id_is_refused(typed):
    assert code(typed) == "not_allowed"
    assert normalize(typed[:-1]).key == typed[:-1].lower()
