"""Alembic's environment: authsite hands over the connection, see authsite/db/migrate.py."""

from alembic import context

import authsite.audit.models
import authsite.login.models
import authsite.mail.models
import authsite.oauth.models
import authsite.throttle.models
import authsite.users.models  # noqa: F401  importing a model registers its table
from authsite.db.base import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite cannot alter a table in place
)
with context.begin_transaction():
    context.run_migrations()
