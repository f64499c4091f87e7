"""Alembic's environment. authsite/db/migrate.py passes the connection."""

from importlib import import_module
from pathlib import Path

from alembic import context

import authsite
from authsite.db.base import Base
from authsite.db.migrate import VERSION_TABLE, refuse_foreign_tables

PACKAGES = Path(authsite.__file__).parent
for models in PACKAGES.rglob("models.py"):  # importing a model registers its table
    import_module(".".join(("authsite", *models.relative_to(PACKAGES).with_suffix("").parts)))
connection = context.config.attributes["connection"]
refuse_foreign_tables(connection, Base.metadata.tables)
# The connection is in a transaction, which the caller commits.
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite cannot alter a table in place
)
context.run_migrations()
