"""The language of a reader, and the catalogues."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po

from authsite.platform.i18n import (
    DOMAIN,
    FOLDER,
    LANGUAGES,
    SOURCE_LANGUAGE,
    direction,
    negotiate,
    own_name,
    tag,
    translate,
)
from tests.support.servers import write_ini

ROOT = Path(__file__).resolve().parents[2] / "authsite"
OPTIONS = {"encoding": "utf-8", "trimmed": "true", "silent": "false", "newstyle_gettext": "true"}
TAG = re.compile(r"<[^>]*>")
URL = re.compile(r"\S+:/\S*")
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
        ("it, de;q=0.3, en;q=0.2", "de"),
        ("fr-CA", "fr"),
        ("es-419, en;q=0.9", "es"),
        ("it", "en"),
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


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_has_the_same_links(language):
    for message in catalogue(language, "po"):
        if message.id:
            for translation in strings(message.string):
                assert TAG.findall(translation) == TAG.findall(strings(message.id)[0])


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_plural_form_is_there_and_none_is_left_over(language):
    messages = catalogue(language, "po")
    for message in messages:
        if isinstance(message.id, tuple | list):
            assert len(message.string) == messages.num_plurals
    assert [*messages.obsolete] == []


def test_french_has_narrow_no_break_spaces_and_typographic_apostrophes():
    for message in catalogue("fr", "po"):
        for text in strings(message.string) if message.id else ():
            prose = URL.sub("", TAG.sub("", text))
            assert not re.search(r"[ \w\xa0][:;?!»](?!\w)|« |'", prose), text


def test_every_language_names_itself():
    assert [own_name(each) for each in LANGUAGES] == ["English", "Deutsch", "Español", "Français"]
    assert own_name("pt_BR") == "Português (Brasil)"
    assert (tag("pt_BR"), direction("ar"), direction("de")) == ("pt-BR", "rtl", "ltr")
    assert negotiate("pt-br, en;q=0.5", ("en", "pt_BR")) == "pt_BR"


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
    assert compiled == source, "run make dev"


def test_authsite_does_not_start_with_a_catalogue_that_is_not_compiled(tmp_path):
    """A German must not read English pages without a word to the operator."""
    copied = shutil.copytree(ROOT, tmp_path / "authsite", ignore=lambda *_: {"__pycache__"})
    missing = copied / "locale/de/LC_MESSAGES/authsite.mo"
    missing.unlink()
    environ = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"}

    def serve(**settings):
        ini = write_ini(tmp_path, f"sqlite:///{tmp_path}/new.sqlite", **settings)
        command = [sys.executable, "-m", "authsite", "serve", "--config", str(ini), "--port", "1"]
        return subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60)

    refused = serve()
    assert refused.returncode == 1
    assert f"authsite.languages = 'de': its translations are missing ({missing})" in refused.stderr
    assert "make dev" in refused.stderr
    assert "translations" not in serve(languages="en fr").stderr  # of which German is not one


def plain(words):
    return tuple(words) if isinstance(words, list) else words


def all_of(string):
    return all(string) if isinstance(string, tuple | list) else bool(string)
