"""Messages that are English to programs, and in a reader's language on a page."""

from authsite.platform.i18n import PluralString, _, translate

ONE = "Too many attempts. Try again in ${count} second."
MANY = "Too many attempts. Try again in ${count} seconds."
EIGHT = PluralString("Use at least ${count} character.", "Use at least ${count} characters.", 8)


def test_a_program_gets_the_english_message_with_its_values_in_it():
    assert translate(EIGHT) == "Use at least 8 characters."


def test_a_page_says_it_in_the_readers_language():
    assert translate(EIGHT, "de") == "Verwenden Sie mindestens 8 Zeichen."
    assert translate(EIGHT, "tlh") == "Use at least 8 characters."


def test_messages_within_a_message_are_translated_too():
    message = _("${reason} ${advice}", {"reason": EIGHT, "advice": "Take another."})
    assert translate(message) == "Use at least 8 characters. Take another."
    assert translate(message, "de") == "Verwenden Sie mindestens 8 Zeichen. Take another."


def test_numbers_choose_their_words():
    one, five = PluralString(ONE, MANY, 1), PluralString(ONE, MANY, 5)
    assert translate(one) == "Too many attempts. Try again in 1 second."
    assert translate(five) == "Too many attempts. Try again in 5 seconds."
    german = "Zu viele Versuche. Versuchen Sie es in {} noch einmal."
    assert translate(one, "de") == german.format("1 Sekunde")
    assert translate(five, "de") == german.format("5 Sekunden")


def test_a_number_without_a_translation_chooses_the_english_words():
    assert translate(PluralString("${count} knot", "${count} knots", 1), "de") == "1 knot"
    assert translate(PluralString("${count} knot", "${count} knots", 5), "de") == "5 knots"


def test_a_percent_sign_in_a_text_without_values_is_harmless():
    assert translate(_("100% sure"), "de") == "100% sure"


def test_a_plain_string_is_looked_up_and_an_empty_one_is_not_the_catalogues_header():
    assert translate("Dates are easy to guess.", "de") == "Datumsangaben sind leicht zu erraten."
    assert translate("", "de") == ""
