"""Keys: one per purpose, the first signs, all verify."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authsite.platform.crypto.keys import FINGERPRINT_SIZE, MAC_SIZE, KeyRing, hkdf

OLD = "old-3hV8kQzW1rXyLm5TgBn2-Yc7PdFs4JwE9uKtRaHx"
NEW = "new-8mK2nQwR5tYuIo9PaSdF3gHjKl6ZxCvBn1MqWeRt"

secrets = st.text(min_size=32, max_size=80)
messages = st.binary(max_size=200)


def test_hkdf_gives_the_first_block_of_rfc_5869_test_case_1():
    made = hkdf(
        bytes.fromhex("0b" * 22),
        bytes.fromhex("f0f1f2f3f4f5f6f7f8f9"),
        salt=bytes.fromhex("000102030405060708090a0b0c"),
    )
    assert made.hex() == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"


def test_hkdf_without_salt_and_info_gives_the_first_block_of_rfc_5869_test_case_3():
    made = hkdf(bytes.fromhex("0b" * 22), b"")
    assert made.hex() == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"


@given(secrets, messages)
def test_what_a_ring_signs_it_verifies(secret, message):
    key = (ring := KeyRing([secret], "purpose")).signing
    assert len(key.fingerprint) == FINGERPRINT_SIZE
    assert len(key.mac(message)) == MAC_SIZE
    assert ring.verify(key.fingerprint, message, key.mac(message))


@given(messages, messages)
def test_a_mac_is_good_for_its_own_message_only(message, other):
    ring = KeyRing([NEW], "purpose")
    good = ring.verify(ring.signing.fingerprint, other, ring.signing.mac(message))
    assert good == (message == other)


@given(messages, st.integers(0, MAC_SIZE * 8 - 1))
def test_one_wrong_bit_in_a_mac_is_refused(message, bit):
    ring = KeyRing([NEW], "purpose")
    mac = bytearray(ring.signing.mac(message))
    mac[bit // 8] ^= 1 << bit % 8
    assert not ring.verify(ring.signing.fingerprint, message, bytes(mac))


@pytest.mark.parametrize("length", [0, 1, 16, 31, 33, 64])
def test_a_mac_of_another_length_is_refused(length):
    ring = KeyRing([NEW], "purpose")
    mac = ring.signing.mac(b"message")
    assert not ring.verify(ring.signing.fingerprint, b"message", (mac * 2)[:length])


def test_each_purpose_has_a_key_of_its_own():
    purposes = ("access token", "refresh token", "signed url", "reset")
    keys = [KeyRing([NEW], purpose).signing for purpose in purposes]
    assert len({key.secret for key in keys}) == len({key.fingerprint for key in keys}) == 4


def test_a_mac_for_one_purpose_is_refused_for_another():
    made, other = KeyRing([NEW], "access token"), KeyRing([NEW], "refresh token")
    assert not other.verify(made.signing.fingerprint, b"message", made.signing.mac(b"message"))
    assert not other.verify(other.signing.fingerprint, b"message", made.signing.mac(b"message"))


@pytest.mark.control("K03")
def test_after_a_new_secret_was_put_first_it_signs_and_the_old_one_still_verifies():
    before, after = KeyRing([OLD], "purpose"), KeyRing([NEW, OLD], "purpose")
    assert after.signing == KeyRing([NEW], "purpose").signing
    old = before.signing
    assert after.verify(old.fingerprint, b"message", old.mac(b"message"))


@pytest.mark.control("K03")
def test_once_the_old_secret_is_gone_its_macs_are_refused():
    old = KeyRing([OLD], "purpose").signing
    assert not KeyRing([NEW], "purpose").verify(old.fingerprint, b"message", old.mac(b"message"))


def test_a_fingerprint_does_not_lend_one_keys_name_to_another_key():
    ring = KeyRing([NEW, OLD], "purpose")
    old = KeyRing([OLD], "purpose").signing
    assert not ring.verify(ring.signing.fingerprint, b"message", old.mac(b"message"))
    assert not ring.verify(b"\0" * FINGERPRINT_SIZE, b"message", ring.signing.mac(b"message"))


def test_a_key_does_not_show_its_secret_when_printed():
    key = KeyRing([NEW], "purpose").signing
    assert key.secret.hex() not in repr(key)
    assert repr(key.secret) not in repr(key)
