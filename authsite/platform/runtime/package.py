"""The folder of the package, with its templates, translations and static files."""

from pathlib import Path

FOLDER = Path(__file__).parents[2]
