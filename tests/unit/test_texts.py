"""Texts that are English to programs, and a reader's language on a page."""

import gettext
import json

from authsite.texts import counted, say, text


class Catalogue(gettext.NullTranslations):
    """Three messages, as a .mo file holds them."""

    words = {  # noqa: RUF012  a table, never changed
        "Use at least %(count)s characters.": "Mindestens %(count)s Zeichen.",
        "Dates are tried first.": "Daten werden zuerst probiert.",
        "%(reason)s %(advice)s": "%(advice)s %(reason)s",
    }

    def gettext(self, message):
        return self.words.get(message, message)

    def ngettext(self, one, many, n):
        return "%(count)s Sekunde" if n == 1 else "%(count)s Sekunden"


GERMAN, ENGLISH = Catalogue(), gettext.NullTranslations()


def test_a_text_is_an_english_string_with_its_values_in_it():
    made = text("Use at least %(count)s characters.", count=8)
    assert made == "Use at least 8 characters."
    assert json.dumps({"message": made}) == '{"message": "Use at least 8 characters."}'


def test_a_page_says_it_in_the_readers_language():
    made = text("Use at least %(count)s characters.", count=8)
    assert say(GERMAN, made) == "Mindestens 8 Zeichen."
    assert say(ENGLISH, made) == "Use at least 8 characters."


def test_texts_within_a_text_are_translated_too():
    made = text(
        "%(reason)s %(advice)s", reason=text("Dates are tried first."), advice="Take another."
    )
    assert made == "Dates are tried first. Take another."
    assert say(GERMAN, made) == "Take another. Daten werden zuerst probiert."


def test_numbers_choose_their_words():
    assert counted("%(count)s second", "%(count)s seconds", 1) == "1 second"
    assert counted("%(count)s second", "%(count)s seconds", 5) == "5 seconds"
    assert say(GERMAN, counted("%(count)s second", "%(count)s seconds", 1)) == "1 Sekunde"
    assert say(GERMAN, counted("%(count)s second", "%(count)s seconds", 5)) == "5 Sekunden"


def test_a_percent_sign_in_a_text_without_values_is_harmless():
    assert say(GERMAN, text("100% sure")) == "100% sure"


def test_a_plain_string_is_looked_up_and_an_empty_one_is_not_the_catalogues_header():
    assert say(GERMAN, "Dates are tried first.") == "Daten werden zuerst probiert."
    assert say(ENGLISH, "") == ""
