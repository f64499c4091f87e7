"""A phone number is one E.164 key in all its spellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authsite.sign_in.identifiers import InvalidIdentifier
from authsite.sign_in.identifiers import normalize_phone as normalize
from tests.support.timing import within


def refused(typed: str, region: str | None = None) -> str:
    with pytest.raises(InvalidIdentifier) as raised:
        normalize(typed, region)
    return raised.value.code


@pytest.mark.control("U04")
@pytest.mark.parametrize(
    "typed",
    [
        "+4930901820",
        "+49 30 901820",
        "+49 (0)30 / 90-18-20",
        "0049 30 901820",
        "(00) 49-30-901820",
        "٠٠٤٩ ٣٠ ٩٠١٨٢٠",
        "＋４９３０９０１８２０",
        "\u202a+49\u00a030\u2011901820\u202c",
        " +49.30.90.18.20 ",
    ],
)
@pytest.mark.parametrize("region", [None, "DE", "US"])
def test_every_spelling_with_the_country_code_is_one_key_in_every_region(typed, region):
    found = normalize(typed, region)
    assert (found.kind, found.key, found.display) == ("phone", "+4930901820", "+4930901820")


@pytest.mark.control("U04")
@pytest.mark.parametrize("typed", ["030 901820", "030/901820", "(030) 90 18 20", "٠٣٠٩٠١٨٢٠"])
def test_a_national_number_needs_a_region(typed):
    assert normalize(typed, "DE").key == "+4930901820"
    assert refused(typed) == "invalid"


def test_an_italian_number_keeps_its_zero():
    assert normalize("+39 06 698 1234").key == "+39066981234"


def test_a_number_that_is_not_yet_in_any_list_is_taken():
    assert normalize("+1 555 123 4567").key == "+15551234567"


@pytest.mark.control("U04")
@pytest.mark.parametrize(
    "typed",
    [
        "+1",
        "+",
        "00",
        "110",
        "+49",
        "+999 123 45678",
        "+49 30 901820 ext. 7",
        "+49 30 901820;ext=7",
        "+49 30 901820 x7",
        "tel:+4930901820",
        "0800FLOWERS",
        "++4930901820",
        "49+30901820",
        "+49 30 9018\n20",
        "+49\0" + "30901820",
        "+" + "1" * 40,
        "1" * 320,
        "anna",
        "anna@example.test",
        "²³⁴⁵⁶⁷⁸",
    ],
)
@pytest.mark.parametrize("region", [None, "DE"])
def test_what_is_no_whole_number_is_refused(typed, region):
    assert refused(typed, region) == "invalid"


def test_an_empty_number_is_required_and_a_long_one_too_long():
    assert refused("  ") == "required"
    assert refused("1" * 321) == "too_long"


@given(st.text("+0123456789 -()/.٤٩x", max_size=25), st.sampled_from([None, "DE", "US", "IT"]))
def test_what_is_accepted_is_its_own_spelling_everywhere(text, region):
    try:
        found = normalize(text, region)
    except InvalidIdentifier:
        return
    assert found.key[0] == "+"
    assert found.key[1:].isdigit()
    assert normalize(found.key) == normalize(found.key, "US") == found


@pytest.mark.control("U11")
@pytest.mark.parametrize("evil", ["1" * 100_000, "+" * 100_000, "(" * 100_000, " -" * 50_000])
def test_a_hundred_thousand_characters_are_refused_at_once(evil):
    normalize("+4930901820")
    for typed in (evil, evil[:320]):
        assert within(lambda typed=typed: refused(typed, "DE"), 0.05) < 0.05
