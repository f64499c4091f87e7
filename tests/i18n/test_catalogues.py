"""The language of a reader, and the catalogues."""

import re
from pathlib import Path

import pytest
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po

from authsite.i18n import DOMAIN, FOLDER, LANGUAGES, SOURCE_LANGUAGE, negotiate, translate

ROOT = Path(__file__).resolve().parents[2] / "authsite"
OPTIONS = {"encoding": "utf-8", "trimmed": "true", "silent": "false", "newstyle_gettext": "true"}
TRANSLATED = [language for language in LANGUAGES if language != SOURCE_LANGUAGE]


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (None, "en"),
        ("", "en"),
        ("de", "de"),
        ("DE", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("en-GB,de;q=0.5", "en"),
        ("fr, de;q=0.3, en;q=0.2", "de"),
        ("fr", "en"),
        ("*", "en"),
        ("de;q=0", "en"),
        ("de;q=0, en", "en"),
        ("de;q=0.1, en;q=0.9", "en"),
        (";;;", "en"),
        ("de;q=nan", "en"),
        ("../../etc", "en"),
        ("x" * 100_000, "en"),
        ("ü\r\nX: y", "en"),
    ],
)
def test_the_language_is_the_first_that_we_have(header, language):
    assert negotiate(header) == language


def test_a_language_without_a_catalogue_reads_english():
    assert translate("Confirm your account", "tlh") == "Confirm your account"


def catalogue(language, kind):
    path = FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.{kind}"
    with path.open("rb") as file:
        return read_po(file, locale=language) if kind == "po" else read_mo(file)


def texts(pattern, method):
    found = extract_from_dir(
        ROOT,
        method_map=[(pattern, method)],
        options_map={pattern: OPTIONS},
        keywords=DEFAULT_KEYWORDS | {"PluralString": (1, 2)},
    )
    return {message for _file, _line, message, _comments, _context in found}


@pytest.mark.parametrize(
    ("pattern", "method"), [("**/templates/**", "jinja2"), ("**.py", "python")]
)
@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated(language, pattern, method):
    known = {message.id: message for message in catalogue(language, "po") if message.id}
    found = texts(pattern, method)
    assert len(found) > 50
    missing = [text for text in found if not known.get(text) or not all_of(known[text].string)]
    assert missing == []
    assert [message.id for message in known.values() if message.fuzzy] == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_has_the_same_placeholders(language):
    for message in catalogue(language, "po"):
        if message.id:
            assert [str(error) for error in message.check()] == []
            for translation in strings(message.string):
                assert markers(translation) == markers(strings(message.id)[0])


def strings(words):
    return words if isinstance(words, tuple | list) else (words,)


def markers(text):
    """The replacement markers of Pyramid's translation strings, which babel does not check."""
    return set(re.findall(r"\$\{\w+\}", text))


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_compiled_catalogue_is_that_of_the_po_file(language):
    source, compiled = (
        {plain(item.id): plain(item.string) for item in catalogue(language, kind) if item.id}
        for kind in ("po", "mo")
    )
    assert compiled == source


def plain(words):
    return tuple(words) if isinstance(words, list) else words


def all_of(string):
    return all(string) if isinstance(string, tuple | list) else bool(string)
