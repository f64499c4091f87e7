"""An e-mail address has one key, whatever its spelling, and no other address looks like it."""

import email_validator
import pytest
from hypothesis import given
from hypothesis import strategies as st

from authsite.sign_in.identifiers import Identifier, InvalidIdentifier
from authsite.sign_in.identifiers import normalize_email as normalize
from tests.support.timing import within


@pytest.mark.control("U01")
@pytest.mark.parametrize(
    ("typed", "key", "display"),
    [
        ("anna@example.test", "anna@example.test", "anna@example.test"),
        ("  Anna.Lee@EXAMPLE.Test ", "anna.lee@example.test", "Anna.Lee@example.test"),
        ("\u00a0a+b@mail.example.com\u3000", "a+b@mail.example.com", "a+b@mail.example.com"),
        ("Postmaster@b.de", "postmaster@b.de", "Postmaster@b.de"),
        ("o'neil@b.c", "o'neil@b.c", "o'neil@b.c"),
        ("x@MÜNCHEN.de", "x@xn--mnchen-3ya.de", "x@xn--mnchen-3ya.de"),
        ("x@mu\u0308nchen.de", "x@xn--mnchen-3ya.de", "x@xn--mnchen-3ya.de"),
        ("x@XN--MNCHEN-3YA.de", "x@xn--mnchen-3ya.de", "x@xn--mnchen-3ya.de"),
        ("x@straße.de", "x@xn--strae-oqa.de", "x@xn--strae-oqa.de"),
        ("x@ｅｘａｍｐｌｅ.test", "x@example.test", "x@example.test"),
        ("root@LOCALHOST", "root@localhost", "root@localhost"),
        ("root@box.localhost", "root@box.localhost", "root@box.localhost"),
        ("a@office.local", "a@office.local", "a@office.local"),
        ("a" * 64 + "@" + ".".join(["b" * 61] * 3) + ".de", None, None),
    ],
)
def test_an_address_has_one_key_and_is_shown_as_typed(typed, key, display):
    found = normalize(typed)
    assert found == Identifier("email", key or typed, display or typed)


@pytest.mark.control("U01")
@pytest.mark.parametrize(
    "typed",
    [
        "a＠b.c",
        "a@b.c,d@e.f",
        "a@b.c d@e.f",
        '"a b"@c',
        '"a b"@c.de',
        '"ab"@c.de',
        "<a@b>",
        "<a@b.de>",
        "Anna <a@b.de>",
        "<a@localhost>",
        "a(note)@b.de",
        "a@b.c\n",
        "\na@b.de",
        "a@b.de\r\nBcc: c@d.de",
        "a@b\0.de",
        "a@-b",
        "a@-b.de",
        "a@b-.de",
        "a@b",
        "a@test",
        "a@.test",
        "a@b..test",
        "a@b.test.",
        "a@localhost.",
        "a@[127.0.0.1]",
        "a@127.0.0.1",
        "a@b@c.de",
        "a@b@localhost",
        "a..b@c.de",
        ".a@c.de",
        "a.@c.de",
        "a@b_c.de",
        "a@b\u200b.de",
        "a@xn--zz.de",
        "a@b.invalid",
        "\ud800@b.de",
        "a@\ud800.de",
        "a" * 65 + "@b.de",
        "a@" + "b" * 64 + ".de",
        "a@" + "ü" * 80 + ".de",
        "@b.de",
        "a@",
        "@",
        "anna",
    ],
)
def test_what_is_not_exactly_one_address_is_refused(typed):
    with pytest.raises(InvalidIdentifier) as raised:
        normalize(typed)
    assert raised.value.code == "invalid"


@pytest.mark.control("U01")
@pytest.mark.parametrize(
    "typed", ["<a@b.de>", "Anna <a@b.de>", '"a b"@c.de', "a@[127.0.0.1]", "@b.de"]
)
def test_what_the_application_around_us_allows_changes_nothing(typed, monkeypatch):
    for name in ("DISPLAY_NAME", "QUOTED_LOCAL", "DOMAIN_LITERAL", "EMPTY_LOCAL"):
        monkeypatch.setattr(email_validator, f"ALLOW_{name}", True)
    with pytest.raises(InvalidIdentifier):
        normalize(typed)


@pytest.mark.control("U01")
@pytest.mark.parametrize("blank", ["", "   ", "\u00a0"])
def test_an_empty_address_is_required(blank):
    with pytest.raises(InvalidIdentifier) as raised:
        normalize(blank)
    assert raised.value.code == "required"


@pytest.mark.control("U01")
def test_an_address_of_255_characters_is_too_long_in_any_spelling():
    rest = ".".join(["b" * 61] * 3) + ".de"  # 188
    longest = "a" * 62 + "@cc." + rest
    assert normalize(longest).key == longest
    for typed in ("a" + longest, "a" * 60 + "@ü." + rest):  # 255, and 250 that become 256
        with pytest.raises(InvalidIdentifier):
            normalize(typed)


@pytest.mark.control("U02")
@pytest.mark.parametrize("typed", ["m\u0131ke@x.de", "mi\u212ae@x.de", "mıKe@x.de", "ｍike@x.de"])
def test_a_look_alike_of_a_local_part_is_refused_and_never_mapped(typed):
    with pytest.raises(InvalidIdentifier):
        normalize(typed)


@pytest.mark.control("U02")
def test_a_look_alike_domain_is_another_domain():
    assert normalize("mike@gıthub.com").key == "mike@xn--gthub-n4a.com"
    assert normalize("mike@gіthub.com").key != normalize("mike@github.com").key


@given(st.text(max_size=60), st.sampled_from(["", "@x.de", "@localhost", ".test"]))
def test_what_is_accepted_is_its_own_spelling(text, end):
    try:
        first = normalize(text + end)
    except InvalidIdentifier:
        return
    again = normalize(first.display)
    assert again == first
    assert normalize(first.key).key == first.key == first.display.lower()
    assert first.key.isascii()


@pytest.mark.control("U11")
@pytest.mark.parametrize(
    "evil",
    ["a" * 100_000, "@" * 100_000, "a@" + "a." * 50_000, "a@" + "ü" * 100_000, " " * 100_000],
)
def test_a_hundred_thousand_characters_are_refused_at_once(evil):
    normalize("warm@up.test")
    for typed in (evil, evil[:254]):
        assert within(lambda typed=typed: refused(typed), 0.05) < 0.05


def refused(typed):
    with pytest.raises(InvalidIdentifier):
        normalize(typed)


@pytest.mark.parametrize(
    "local",
    ["=?utf-8?q?x=40evil.example=3e?=", "=?x?b?eA==?=", "ann=?utf-8?q?x?=", "ann=?",
     "ann%evil.example", "%", "evil.example!ann", "!", "a!b%c"],
)  # fmt: skip
def test_no_address_is_one_that_a_relay_reads_as_another(local):
    """S1: encoded words, which some relays decode first, and the old routing forms."""
    with pytest.raises(InvalidIdentifier) as refused:
        normalize(f"{local}@example.com")
    assert refused.value.code == "invalid"


@pytest.mark.parametrize("local", ["ann=bo", "ann?", "?=ann=", "bounce+ann=example.com"])
def test_a_local_part_that_no_relay_reads_otherwise_is_good(local):
    assert normalize(f"{local}@example.com").display == f"{local}@example.com"
