"""When a token family was last used; free space for the same on the pages of sessions"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    # NULL until the next use, so that no row is rewritten. Without an index: with one, neither this
    # update nor a refresh would be a HOT update.
    op.add_column("families", sa.Column("used_at", sa.DateTime(timezone=True), nullable=True))
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE web_sessions SET (fillfactor = 90)")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE web_sessions RESET (fillfactor)")
    op.drop_column("families", "used_at")
