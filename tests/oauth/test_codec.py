"""The token codec: one spelling for each token, and kinds that cannot be exchanged."""

import string
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from authsite.oauth.tokens.format import ACCESS, PERSONAL_TOKEN, REFRESH, PersonalTokenValues, Token
from tests.support.codec import TokenCodec

SECRET = "3hV8kQzW1rXyLm5TgBn2-Yc7PdFs4JwE9uKtRaHx"
OTHER = "8mK2nQwR5tYuIo9PaSdF3gHjKl6ZxCvBn1MqWeRt"
NOW = datetime(2031, 5, 17, 9, 30, tzinfo=UTC)
LATER = int(NOW.timestamp()) + 60
FAMILY = UUID("7b1c3f5e-0d2a-4c6b-8e9f-a1b2c3d4e5f6")

codec = TokenCodec([SECRET])
kinds = st.sampled_from((ACCESS, REFRESH))
families = st.uuids()
generations = st.integers(0, 2**31 - 1)
# As far ahead as the settings allow: a century.
expiries = st.integers(LATER, LATER + 3_153_600_000)
tokens = st.builds(codec.encode, kinds, families, generations, expiries)


@given(kinds, families, generations, expiries)
def test_a_token_decodes_to_the_values_that_were_encoded(kind, family, generation, expires):
    text = codec.encode(kind, family, generation, expires)
    assert codec.decode(kind, text, NOW) == Token(family, generation, expires)


@pytest.mark.control("T04")
@given(tokens)
def test_a_token_differs_from_other_text_and_fits_header_form_and_url(text):
    prefix, _, rest = text.partition("_")
    assert f"{prefix}_" in (ACCESS, REFRESH)
    assert len(rest) == 88
    assert set(text) <= set(string.ascii_letters + string.digits + "-_")


@given(kinds, families, generations, expiries)
def test_a_token_of_one_kind_is_none_of_another(kind, family, gen, expires):
    text = codec.encode(kind, family, gen, expires)
    rest = text.removeprefix(kind)
    [other] = {ACCESS, REFRESH} - {kind}
    assert codec.decode(other, text, NOW) is None
    assert codec.decode(other, other + rest, NOW) is None
    assert codec.decode(kind, other + rest, NOW) is None
    assert codec.decode_bearer(PERSONAL_TOKEN + rest, NOW) is None


@pytest.mark.control("T01")
@given(kinds, families, generations, expiries)
def test_every_single_bit_of_the_text_matters(kind, family, generation, expires):
    text = codec.encode(kind, family, generation, expires)
    flipped = (
        text[:at] + chr(ord(text[at]) ^ (1 << bit)) + text[at + 1 :]
        for at in range(len(text))
        for bit in range(8)
    )
    assert [made for made in flipped if codec.decode(kind, made, NOW)] == []


@pytest.mark.control("T01")
def test_every_single_bit_of_the_content_matters():
    text = codec.encode(ACCESS, FAMILY, 7, LATER)
    content = urlsafe_b64decode(text[3:])
    for bit in range(len(content) * 8):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        assert codec.decode(ACCESS, ACCESS + urlsafe_b64encode(changed).decode(), NOW) is None


@given(tokens, st.integers(0, 90), st.characters())
def test_another_character_at_any_position_invalidates_a_token(text, at, character):
    assume(text[at] != character)
    kind = f"{text.partition('_')[0]}_"
    assert codec.decode(kind, text[:at] + character + text[at + 1 :], NOW) is None


@given(kinds, st.text(max_size=200))
def test_text_that_was_not_made_here_is_none_and_never_an_exception(kind, text):
    assert codec.decode(kind, text, NOW) is None
    assert codec.decode(kind, kind + text, NOW) is None
    assert (
        codec.decode(kind, (kind + text).ljust(len(kind) + 88, "A")[: len(kind) + 88], NOW) is None
    )


@given(kinds, st.binary(min_size=66, max_size=66))
def test_random_content_of_the_right_length_is_refused(kind, content):
    assert codec.decode(kind, kind + urlsafe_b64encode(content).decode(), NOW) is None


def spellings(text):
    """Ways to write the same token that a lenient reader would take."""
    body = text[3:]
    yield text + "="
    yield text + "=="
    yield text + " "
    yield " " + text
    yield text + "\n"
    yield text[:40] + "\n" + text[40:]
    yield text.upper()
    yield text.lower()
    yield body
    yield text[:3].upper() + body
    yield text[:3] + body.translate(str.maketrans("-_", "+/"))
    yield text[:3] + body.translate(str.maketrans("-_", ".~"))
    yield text[:-4] + "===="
    yield text[:-1] + "="
    yield text[:-2] + "=="


@given(families)
def test_a_token_has_exactly_one_spelling(family):
    text = codec.encode(ACCESS, family, 62, LATER)
    assume("-" in text[3:] and "_" in text[3:])  # so that each spelling differs
    assert codec.decode(ACCESS, text, NOW)
    for spelling in spellings(text):
        assert codec.decode(ACCESS, spelling, NOW) is None, spelling


@pytest.mark.control("T17")
@pytest.mark.parametrize("kind", [ACCESS, REFRESH])
def test_a_token_is_dead_from_the_very_second_of_its_expiry(kind):
    expires = int(NOW.timestamp())
    text = codec.encode(kind, FAMILY, 0, expires)
    for seconds, alive in ((-1, True), (-0.001, True), (0, False), (0.001, False), (1, False)):
        moment = datetime.fromtimestamp(expires + seconds, UTC)
        assert bool(codec.decode(kind, text, moment)) is alive, seconds


def test_the_first_secret_signs_and_every_secret_verifies():
    old, both, new = TokenCodec([OTHER]), TokenCodec([SECRET, OTHER]), TokenCodec([SECRET])
    before = old.encode(ACCESS, FAMILY, 3, LATER)
    after = both.encode(ACCESS, FAMILY, 3, LATER)
    assert both.decode(ACCESS, before, NOW) == both.decode(ACCESS, after, NOW)
    assert after == new.encode(ACCESS, FAMILY, 3, LATER)
    assert old.decode(ACCESS, after, NOW) is None
    assert new.decode(ACCESS, before, NOW) is None


@pytest.mark.control("T01")
def test_the_mac_has_256_bits_and_depends_on_the_secret():
    one, two = (
        urlsafe_b64decode(TokenCodec([secret]).encode(ACCESS, FAMILY, 0, LATER)[3:])
        for secret in (SECRET, OTHER)
    )
    assert one[:28] == two[:28]  # family, generation and expiry
    assert len(one[34:]) == 32
    assert one[34:] != two[34:]


def test_the_same_family_and_generation_give_the_same_token_again():
    family = uuid4()
    assert codec.encode(REFRESH, family, 4, LATER) == codec.encode(REFRESH, family, 4, LATER)


@given(families, expiries)
def test_a_personal_access_token_decodes_to_the_values_that_were_encoded(token, expires):
    text = codec.encode_personal(token, expires)
    assert text.startswith(PERSONAL_TOKEN)
    assert codec.decode_bearer(text, NOW) == PersonalTokenValues(token, expires)
    assert codec.decode_bearer(text, datetime.fromtimestamp(expires, UTC)) is None


@given(kinds, families, expiries)
def test_a_personal_access_token_is_none_of_another_kind(kind, token, expires):
    rest = codec.encode_personal(token, expires).removeprefix(PERSONAL_TOKEN)
    assert codec.decode(kind, kind + rest, NOW) is None


@pytest.mark.control("T01")
def test_every_single_bit_of_a_personal_access_token_matters():
    text = codec.encode_personal(FAMILY, LATER)
    content = urlsafe_b64decode(text[4:])
    for bit in range(len(content) * 8):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        made = PERSONAL_TOKEN + urlsafe_b64encode(changed).decode()
        assert codec.decode_bearer(made, NOW) is None
