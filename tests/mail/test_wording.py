"""Names, moments and colours as a mail may show them."""

from datetime import UTC, datetime, timedelta

import pytest

from authsite.platform.i18n import duration_words, moment_words
from authsite.platform.mail.message import lifetime_words, tame_name
from authsite.platform.runtime.colors import readable_on

NOW = datetime(2026, 11, 20, 18, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    "name",
    [
        "Ann",
        "Anna Lindqvist",
        "J. R. R. Tolkien",
        "O’Brien-Smith",
        "李小龍",
        "Ольга",
        "R2-D2",
        "A&B",
    ],
)
def test_a_name_stays_a_name(name):
    assert tame_name(name) == name


@pytest.mark.control("M03")
@pytest.mark.parametrize(
    "name",
    [
        "You won! https://evil.example", "see evil.example", "www.evil.example", "evil。com",
        "evil．example", "win at evil.co/x", "//evil", "a@evil.example", '"<a href=//evil>',
        "Ann <b>", "mailto:eve", "C:\\x", "evil .com",
    ],
)  # fmt: skip
def test_what_a_mail_client_would_link_is_no_name(name):
    assert tame_name(name) is None


@pytest.mark.control("M03")
def test_a_name_has_no_control_or_direction_characters_and_sixty_at_most():
    assert tame_name("Ann\r\nBcc: x") is None
    assert tame_name("An\x00n\x1b\u202eeve\u200b") == "Anneve"
    assert tame_name("  Ann \t\n  Lee ") == "Ann Lee"
    assert tame_name("x" * 500) == "x" * 60


@pytest.mark.parametrize("name", [None, "", "  ", "\u200b\u202e", "\x00"])
def test_nothing_is_no_name(name):
    assert tame_name(name) is None


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(minutes=60), "1 hour"), (timedelta(minutes=90), "90 minutes"),
        (timedelta(days=2), "2 days"), (timedelta(hours=36), "36 hours"),
        (timedelta(minutes=59, seconds=59), "59 minutes"), (timedelta(seconds=20), "1 minute"),
    ],
)  # fmt: skip
def test_a_lifetime_is_said_exactly(span, words):
    assert duration_words(span, "en") == words


def test_a_lifetime_is_said_in_the_readers_language():
    assert duration_words(timedelta(minutes=60), "de") == "1 Stunde"


def test_a_mail_that_is_late_promises_only_what_is_left():
    ends = NOW + timedelta(minutes=60)
    assert lifetime_words(NOW, ends, NOW + timedelta(seconds=100), "en") == "1 hour"
    assert lifetime_words(NOW, ends, NOW + timedelta(minutes=25.5), "en") == "34 minutes"


def test_the_moment_between_the_expiry_and_the_mail_takes_no_minute_away():
    ends = NOW + timedelta(hours=72) - timedelta(seconds=2)
    assert lifetime_words(NOW, ends, NOW, "en") == "3 days"


def test_a_moment_is_said_in_utc():
    assert moment_words(NOW, "en") == "November 20, 2026, 18:04 UTC"
    assert moment_words(NOW, "de") == "20. November 2026, 18:04 UTC"


@pytest.mark.parametrize(
    ("colour", "text"),
    [("#000000", "#ffffff"), ("#fff", "#000000"), ("#fc0", "#000000"), ("#1d5bbf", "#ffffff"),
     ("#0a7", "#000000"), ("#c00", "#ffffff")],
)  # fmt: skip
def test_the_button_s_text_can_be_read_on_any_accent(colour, text):
    assert readable_on(colour) == text
