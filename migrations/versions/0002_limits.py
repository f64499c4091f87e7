"""Counters of the rate limits"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    postgresql = op.get_bind().dialect.name == "postgresql"
    op.create_table(
        "limit_counters",
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_limit_counters")),
        # Counters may be lost in a crash, so PostgreSQL need not write them to its log.
        prefixes=["UNLOGGED"] if postgresql else [],
    )
    if postgresql:
        # Free space on each page, so that the next count can be written there (HOT).
        op.execute("ALTER TABLE limit_counters SET (fillfactor = 70)")
    op.create_index(op.f("ix_limit_counters_expires_at"), "limit_counters", ["expires_at"])


def downgrade() -> None:
    op.drop_table("limit_counters")
