"""Sealed values open for what they belong to, under each key of the settings, and nothing else."""

import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest

from authsite.platform.crypto.sealing import (
    Binding,
    Unusable,
    derived_sealing_key,
    prefix_of,
    sealing_key,
    sealing_keys,
)
from authsite.platform.settings import new_sealing_key
from tests.support.site import SECRET

KEY, OTHER = new_sealing_key(), new_sealing_key()
BINDING = Binding("totp", uuid.UUID(int=1), user=uuid.UUID(int=2))
VALUE = b"a value that must be read again"


def keys(*texts, secrets=(SECRET,), announced=()):
    return sealing_keys(texts, secrets, announced)


def test_each_key_of_the_list_opens_and_the_first_one_seals():
    old = keys(OTHER).seal(VALUE, BINDING)
    both = keys(KEY, OTHER)
    assert both.open(old, BINDING) == VALUE
    assert both.seal(VALUE, BINDING).startswith(prefix_of(sealing_key(KEY)))
    assert keys(KEY, announced=[OTHER]).open(old, BINDING) == VALUE
    with pytest.raises(Unusable):
        keys(KEY).open(old, BINDING)


def test_what_a_secret_sealed_opens_after_a_sealing_key_is_added_and_the_secret_replaced():
    old = keys().seal(VALUE, BINDING)
    assert old.startswith(prefix_of(derived_sealing_key(SECRET)))
    assert keys(KEY, secrets=["new" * 20, SECRET]).open(old, BINDING) == VALUE
    with pytest.raises(Unusable):
        keys(KEY, secrets=["new" * 20]).open(old, BINDING)


@pytest.mark.parametrize(
    "other",
    [
        BINDING._replace(kind="webhook"),
        BINDING._replace(user=uuid.UUID(int=3)),
        BINDING._replace(user=None),
        BINDING._replace(row=uuid.UUID(int=3)),
        Binding("totp", BINDING.user, user=BINDING.row),
    ],
)
def test_a_value_of_another_kind_user_or_row_does_not_open(other):
    with pytest.raises(Unusable, match="another row or user"):
        keys(KEY).open(keys(KEY).seal(VALUE, BINDING), other)


def test_a_value_that_was_changed_anywhere_or_cut_does_not_open():
    text = keys(KEY).seal(VALUE, BINDING)
    prefix, _, encoded = text.partition(".")
    raw = urlsafe_b64decode(encoded)
    flipped = [raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :] for at in range(len(raw))]
    changed = [f"{prefix}.{urlsafe_b64encode(each).decode()}" for each in flipped]
    cut = [text[:size] for size in range(len(text))]
    for each in (*changed, *cut, f"{prefix}.é", encoded, f"{prefix.upper()}.{encoded}"):
        with pytest.raises(Unusable):
            keys(KEY).open(each, BINDING)


def test_two_seals_of_one_value_have_nothing_in_common_but_the_key():
    one, two = (keys(KEY).seal(VALUE, BINDING) for _ in range(2))
    assert one[:13] == two[:13] == prefix_of(sealing_key(KEY))
    assert one[13:29] != two[13:29]  # the nonce
    assert one[29:] != two[29:]


def test_no_message_or_repr_shows_a_key_or_a_value():
    made = keys(KEY)
    text = made.seal(VALUE, BINDING)
    shown = repr(made) + repr(vars(made))
    for wrong in (text[:-4], keys(OTHER).seal(VALUE, BINDING)):
        with pytest.raises(Unusable) as refused:
            made.open(wrong, BINDING)
        shown += repr(refused.value)
    for hidden in (KEY, bytes.fromhex(KEY), VALUE, text[13:]):
        assert str(hidden) not in shown


def test_a_mac_is_recognized_under_each_key_and_differs_by_purpose():
    stored = keys(OTHER).macs("recovery code", b"code")[0]
    assert stored in keys(KEY, OTHER).macs("recovery code", b"code")
    assert stored not in keys(KEY, OTHER).macs("another purpose", b"code")
    assert stored not in keys(KEY, OTHER).macs("recovery code", b"other")
    assert stored not in keys(KEY).macs("recovery code", b"code")
