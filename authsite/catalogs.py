"""The languages that have a catalog of translations.

A module of its own: settings are checked without importing Pyramid.
"""

from pathlib import Path

SOURCE_LANGUAGE = "en"
DOMAIN = "authsite"
FOLDER = Path(__file__).parent / "locale"
LANGUAGES = (
    SOURCE_LANGUAGE,
    *sorted(path.parts[-3] for path in FOLDER.glob(f"*/LC_MESSAGES/{DOMAIN}.mo")),
)
