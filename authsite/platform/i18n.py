"""Translations: language negotiation, translatable messages and gettext catalogs.

The messages in code and templates are English. Every other language has a folder in ``locale/``,
whose name is its code: ``de``, or ``pt_BR`` with a region.

The module has its own localizers: in a host application ``request.localizer`` depends on the host's
locale negotiator, and mails are written outside a request.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache

from pyramid.i18n import Localizer, TranslationString, TranslationStringFactory, make_localizer
from webob.acceptparse import create_accept_language_header

from authsite.platform.runtime.catalogs import DOMAIN, FOLDER, LANGUAGES, SOURCE_LANGUAGE

_MAX_HEADER = 1000  # characters; browsers send some 50
_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60))

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


def negotiate(accept_language: str | None, languages: Sequence[str] = LANGUAGES) -> str:
    """The best of ``languages`` for an Accept-Language header, else the first of them.

    Lookup by RFC 4647, section 3.4: ``de-AT`` finds ``de``. A malformed header means the first.
    """
    if not accept_language or len(accept_language) > _MAX_HEADER:
        return languages[0]
    header = create_accept_language_header(accept_language)
    tags = {tag(language): language for language in languages}
    return tags[header.lookup(list(tags), default=tag(languages[0]))]


def tag(language: str) -> str:
    """The language tag of RFC 5646, for HTML and HTTP: ``pt-BR`` for ``pt_BR``."""
    return language.replace("_", "-")


@cache
def direction(language: str) -> str:
    """The direction of the script, as in HTML: ``ltr`` or ``rtl``."""
    from babel import Locale

    return str(Locale.parse(language).text_direction)


@cache
def own_name(language: str) -> str:
    """What speakers of ``language`` call it, with a capital letter: ``Français``."""
    from babel import Locale

    name = Locale.parse(language).get_display_name() or language
    return name[0].upper() + name[1:]


@cache
def region_name(code: str, language: str) -> str:
    """The name of the country ``code`` (ISO 3166-1): ``Deutschland``."""
    from babel import Locale

    return str(Locale.parse(language).territories.get(code, code))


def duration_words(span: timedelta, language: str) -> str:
    """``span`` in the largest unit that divides it; at least one minute, rounded down."""
    from babel.units import format_unit

    seconds = max(60, int(span.total_seconds()) // 60 * 60)
    unit, size = next((unit, size) for unit, size in _UNITS if seconds % size == 0)
    return format_unit(seconds // size, f"duration-{unit}", length="long", locale=language)


def moment_words(moment: datetime, language: str) -> str:
    """A date and time in words: "November 20, 2026, 18:04 UTC"."""
    return f"{date_words(moment.astimezone(UTC), language)}, {time_words(moment, language)}"


def date_words(day: date, language: str) -> str:
    """A date in words: "November 20, 2026"."""
    from babel.dates import format_date

    return format_date(day, "long", locale=language)


def time_words(moment: datetime, language: str) -> str:
    """A time of day: "18:04 UTC"."""
    from babel.dates import format_time

    return f"{format_time(moment.astimezone(UTC), 'HH:mm', locale=language)} UTC"
