"""The languages that have a catalog of translations.

A catalog is a ``.po`` file. ``make`` and the build of a wheel compile it to the ``.mo`` file beside
it, which is read. This module imports no Pyramid: settings are checked without it.
"""

from pathlib import Path

from authsite.platform.runtime import package

SOURCE_LANGUAGE = "en"
DOMAIN = "authsite"
_COMPILED = Path("LC_MESSAGES", f"{DOMAIN}.mo")
FOLDER = package.FOLDER / "locale"
LANGUAGES = (
    SOURCE_LANGUAGE,
    *sorted(path.parts[-3] for path in FOLDER.glob(f"*/LC_MESSAGES/{DOMAIN}.po")),
)


def compiled(language: str) -> Path | None:
    """Where the compiled catalog of ``language`` is; None for the language of the sources."""
    return None if language == SOURCE_LANGUAGE else FOLDER / language / _COMPILED
