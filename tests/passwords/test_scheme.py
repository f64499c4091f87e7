"""What bcrypt is given: 64 bytes that depend on every byte of the password."""

import base64
import hashlib
import hmac
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authsite.platform.passwords import hashing

PASSWORD = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=300)


@pytest.mark.control("P04")
def test_bcrypt_gets_base64_of_hmac_sha_384_of_the_normalised_password():
    expected = base64.b64encode(hmac.new(b"pepper", "é".encode(), hashlib.sha384).digest())
    assert hashing.peppered("e\u0301", "pepper") == expected


@pytest.mark.control("P03")
@given(PASSWORD, st.data())
def test_changing_any_character_changes_what_bcrypt_gets(password, data):
    at = data.draw(st.integers(0, len(password) - 1))
    other = data.draw(st.characters(exclude_categories=("Cc", "Cs")))
    changed = password[:at] + other + password[at + 1 :]
    key = hashing.peppered(password, "")
    assert len(key) == 64
    assert b"\0" not in key
    same = unicodedata.normalize("NFC", changed) == unicodedata.normalize("NFC", password)
    assert (hashing.peppered(changed, "") == key) is same


@pytest.mark.control("P03")
@given(st.binary(min_size=72, max_size=250), st.data())
def test_flipping_any_bit_from_the_first_to_the_last_byte_changes_what_bcrypt_gets(raw, data):
    password = raw.hex()
    at = data.draw(st.integers(0, len(password) - 1))
    flipped = password[:at] + chr(ord(password[at]) ^ 1) + password[at + 1 :]
    assert hashing.peppered(flipped, "") != hashing.peppered(password, "")


@given(PASSWORD)
def test_all_spellings_of_a_password_give_bcrypt_the_same(password):
    nfd, nfc = unicodedata.normalize("NFD", password), unicodedata.normalize("NFC", password)
    assert hashing.peppered(nfd, "p") == hashing.peppered(nfc, "p")


def test_a_pepper_id_is_short_and_stands_for_one_pepper():
    ids = {hashing.pepper_id(f"pepper {number}") for number in range(500)}
    assert len(ids) == 500
    assert {len(name) for name in ids} == {8}


def test_what_was_written_is_read_again():
    hashed = b"$2b$12$" + b"." * 53
    row = hashing.parse(hashing.serialize("0a1b2c3d", hashed))
    assert row == hashing.StoredHash("0a1b2c3d", 12, b"$2b$12$" + b"." * 22, hashed)
    plain = hashing.parse(hashed.decode())
    assert plain is not None
    assert plain.pepper is None


def test_the_control_characters_are_those_of_two_categories_of_unicode():
    found = {chr(n) for n in range(0x110000) if unicodedata.category(chr(n)) in ("Cc", "Cs")}
    assert set(hashing.CONTROL.findall("".join(map(chr, range(0x110000))))) == found
