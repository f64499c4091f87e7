"""The language of a user's mails; what decides whether a mailed link still serves"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    # NULL in every row that is there, so that no row is rewritten.
    op.add_column("users", sa.Column("language", sa.String(length=16), nullable=True))
    op.add_column("users", sa.Column("pending_asked_at", MOMENT, nullable=True))
    op.add_column("users", sa.Column("links_ended_at", MOMENT, nullable=True))
    op.add_column("former_addresses", sa.Column("confirmed_at", MOMENT, nullable=True))
    op.add_column("former_addresses", sa.Column("links_ended_at", MOMENT, nullable=True))
    op.add_column("outbox", sa.Column("from_address", sa.String(length=45), nullable=True))
    op.add_column("outbox", sa.Column("from_agent", sa.String(length=200), nullable=True))


def downgrade() -> None:
    op.drop_column("outbox", "from_agent")
    op.drop_column("outbox", "from_address")
    op.drop_column("former_addresses", "links_ended_at")
    op.drop_column("former_addresses", "confirmed_at")
    op.drop_column("users", "links_ended_at")
    op.drop_column("users", "pending_asked_at")
    op.drop_column("users", "language")
