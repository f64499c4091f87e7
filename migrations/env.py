"""Alembic's environment. authsite/db/migrate.py passes the connection, and whether it is `new`."""

from alembic import context

import authsite.audit.models
import authsite.installation.models
import authsite.mail.models
import authsite.oauth.models
import authsite.rate_limit.models
import authsite.sessions.models
import authsite.users.models  # noqa: F401  importing a model registers its table
from authsite.db.base import Base
from authsite.db.migrate import VERSION_TABLE, refuse_foreign_tables

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
