"""Sealed values: what was put in comes out, for one purpose and one owner, in one spelling."""

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authsite.platform.crypto.keys import KeyRing
from authsite.platform.crypto.sealed import SealedFormat

NOW = datetime(2031, 5, 17, 9, 30, tzinfo=UTC)
LATER = int(NOW.timestamp()) + 60
SECRETS = ["3hV8kQzW1rXyLm5TgBn2-Yc7PdFs4JwE9uKtRaHx"]
RING = KeyRing(SECRETS, "test")
sizes = st.integers(0, 40)


@given(sizes, st.binary(max_size=99), st.sampled_from(["", "at_"]))
def test_fields_of_any_size_come_out_as_they_went_in_without_padding(size, bound, prefix):
    sealed, content = SealedFormat(f"{size}s", prefix), bytes(range(size))
    text = sealed.seal(RING, content, expires=LATER, bound=bound)
    assert text.startswith(prefix)
    assert "=" not in text
    assert sealed.unseal(RING, text, NOW, bound) == (content, LATER)


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_a_value_is_valid_only_for_what_it_is_bound_to(bound, other):
    sealed = SealedFormat()
    text = sealed.seal(RING, expires=LATER, bound=bound)
    assert (sealed.unseal(RING, text, NOW, other) is not None) == (bound == other)


def test_a_value_of_one_purpose_is_none_for_another():
    sealed = SealedFormat("4s")
    text = sealed.seal(RING, b"same", expires=LATER)
    assert sealed.unseal(KeyRing(SECRETS, "test"), text, NOW)
    assert sealed.unseal(KeyRing(SECRETS, "other"), text, NOW) is None


@pytest.mark.parametrize("size", range(6))
def test_no_other_text_is_a_value(size):
    sealed = SealedFormat(f"{size}s")
    text = sealed.seal(RING, bytes(size), expires=LATER)
    raw = urlsafe_b64decode(text)
    others = [
        urlsafe_b64encode(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]) for at in range(len(raw))
    ]
    others += [text[:-1].encode() + b"=", text[:-2].encode() + b"==", text.encode() + b"===="]
    for other in [*map(bytes.decode, others), "", "\xe9" * len(text), f" {text[1:]}"]:
        assert sealed.unseal(RING, other, NOW) is None, other


def test_a_field_that_does_not_fit_is_an_error():
    with pytest.raises(struct.error):
        SealedFormat("I").seal(RING, 2**32, expires=LATER)


def test_a_signature_has_one_spelling_and_every_secret_verifies_it():
    old, both = KeyRing(["b" * 32], "test"), KeyRing(["a" * 32, "b" * 32], "test")
    signature = old.sign(b"message")
    assert both.is_signature(b"message", signature)
    assert not both.is_signature(b"another", signature)
    for other in (signature.upper(), f" {signature}", signature[:-1], "", "\xe9" * 64, "\udcff"):
        assert not both.is_signature(b"message", other), other
