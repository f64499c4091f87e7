"""Reset links are bound to a separate counter, pending changes of address to the epoch"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    # With a constant default no row is rewritten.
    op.add_column(
        "users", sa.Column("recovery_version", sa.Integer(), server_default="0", nullable=False)
    )
    # NULL for changes that are pending now: these end, and users request them again.
    op.add_column("users", sa.Column("pending_epoch", sa.Integer(), nullable=True))
    op.add_column(
        "users", sa.Column("pending_expires_at", sa.DateTime(timezone=True), nullable=True)
    )


def downgrade() -> None:
    for column in ("pending_expires_at", "pending_epoch", "recovery_version"):
        op.drop_column("users", column)
