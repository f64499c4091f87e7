"""Alembic's environment. `platform/db/migrate.py` passes connection, and whether it is `new`."""

from alembic import context

from authsite.models import METADATA
from authsite.platform.db.migrate import VERSION_TABLE, refuse_foreign_tables

connection = context.config.attributes["connection"]
refuse_foreign_tables(connection, METADATA.tables)
# The connection is in a transaction, which the caller commits.
context.configure(
    connection=connection,
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite cannot alter a table in place
)
context.run_migrations()
