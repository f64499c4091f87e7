"""Counters of the rate limits that survive a crash of PostgreSQL, and a failover"""

from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE limit_counters SET LOGGED")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE limit_counters SET UNLOGGED")
