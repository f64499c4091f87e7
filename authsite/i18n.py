"""Languages: which one a person reads, and its catalogue.

The lowest floor, beside the clock: pages and letters stand on it. English is in the templates
themselves; every other language is a folder under ``locale/``, and one word in `LANGUAGES`.
"""

import gettext
from functools import cache
from pathlib import Path

from webob.acceptparse import create_accept_language_header

LANGUAGES = ("en", "de")
SOURCE_LANGUAGE = "en"
DOMAIN = "authsite"
FOLDER = Path(__file__).parent / "locale"
_MAX_HEADER = 1000  # characters; browsers send some 50


def negotiate(accept_language: str | None) -> str:
    """The language among `LANGUAGES` that an Accept-Language header asks for, else English.

    Lookup by RFC 4647, section 3.4: ``de-AT`` finds ``de``. Rubbish is no wish at all.
    """
    if not accept_language or len(accept_language) > _MAX_HEADER:
        return SOURCE_LANGUAGE
    wish = create_accept_language_header(accept_language)
    language: str = wish.lookup(LANGUAGES, default=SOURCE_LANGUAGE)
    return language


@cache
def translations(language: str) -> gettext.NullTranslations:
    """The catalogue of ``language``; one that we have no translation for reads English."""
    return gettext.translation(DOMAIN, FOLDER, [language], fallback=True)
