"""When a token family was used last; room for such notes beside sessions"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    # Empty until it is used: nothing is rewritten, however many rows there are. No index, or
    # neither noting a use nor a refresh would be a HOT update.
    op.add_column("families", sa.Column("used_at", sa.DateTime(timezone=True), nullable=True))
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE web_sessions SET (fillfactor = 90)")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE web_sessions RESET (fillfactor)")
    op.drop_column("families", "used_at")
