"""Every table of authsite: importing a model adds its table to the metadata of `Base`."""

from importlib import import_module
from pathlib import Path

from authsite.platform.db.base import Base

PACKAGES = Path(__file__).parent
for models in sorted(PACKAGES.rglob("*/models.py")):
    import_module(".".join(("authsite", *models.relative_to(PACKAGES).with_suffix("").parts)))

METADATA = Base.metadata
