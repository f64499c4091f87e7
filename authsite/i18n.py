"""Translations: language negotiation, translatable messages and gettext catalogs.

The messages in code and templates are English. Every other language has a folder in ``locale/`` and
a code in `LANGUAGES`.

The module has its own localizers: in a host application ``request.localizer`` depends on the host's
locale negotiator, and mails are written outside a request.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from pyramid.i18n import Localizer, TranslationString, TranslationStringFactory, make_localizer
from webob.acceptparse import create_accept_language_header

LANGUAGES = ("en", "de")
SOURCE_LANGUAGE = "en"
DOMAIN = "authsite"
FOLDER = Path(__file__).parent / "locale"
_MAX_HEADER = 1000  # characters; browsers send some 50

_: Callable[..., str] = TranslationStringFactory(DOMAIN)


class PluralString(TranslationString):
    """A translation string with ``${count}`` and plural forms."""

    def __new__(cls, singular: str, plural: str, count: int) -> "PluralString":
        """``singular`` is the message id, ``plural`` the default text."""
        made: PluralString = super().__new__(cls, singular, DOMAIN, plural, {"count": count})
        return made


def translate(message: str, language: str = SOURCE_LANGUAGE) -> str:
    """``message`` in ``language``, or in English without a translation, with its values.

    Pyramid's localizer does not translate values and has no plural strings.
    """
    own = localizer(language)
    if not isinstance(message, TranslationString):
        # The empty message is the header of the catalog.
        return str(own.translate(message, domain=DOMAIN)) if message else message
    values = {
        name: translate(value, language) if isinstance(value, str) else value
        for name, value in (message.mapping or {}).items()
    }
    if isinstance(message, PluralString):
        text = own.pluralize(str(message), message.default, values["count"], DOMAIN, values)
    else:
        text = own.translate(message, mapping=values)
    return str(text)


@cache
def localizer(language: str) -> Localizer:
    """The localizer of ``language``; without a catalog its messages are English."""
    return make_localizer(language, [str(FOLDER)])


def negotiate(accept_language: str | None) -> str:
    """The best language of `LANGUAGES` for an Accept-Language header, else English.

    Lookup by RFC 4647, section 3.4: ``de-AT`` finds ``de``. A malformed header means English.
    """
    if not accept_language or len(accept_language) > _MAX_HEADER:
        return SOURCE_LANGUAGE
    header = create_accept_language_header(accept_language)
    language: str = header.lookup(LANGUAGES, default=SOURCE_LANGUAGE)
    return language


def direction(language: str) -> str:
    """How ``language`` is written: "ltr" or "rtl", as for the attribute ``dir`` of HTML."""
    from babel import Locale

    return str(Locale.parse(language).text_direction)
