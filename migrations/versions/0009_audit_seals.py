"""Seals of the audit trail, and an index of a user's events"""

import sqlalchemy as sa
from alembic import op

from authsite.platform.db.concurrent_index import create_index

revision = "0009"
down_revision = "0008"

INDEX = "ix_audit_events_user_id_id"


def upgrade() -> None:
    create_index(INDEX, "audit_events", ["user_id", "id"])  # events are recorded during this
    op.create_table(
        "audit_seals",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("first_id", sa.BigInteger(), nullable=False),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        sa.Column("newest_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("key", sa.String(length=12), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("former_mac", sa.String(length=64), nullable=False),
        sa.Column("mac", sa.String(length=64), nullable=False),
        sa.Column("purged_mac", sa.String(length=64), nullable=True),
        sa.CheckConstraint("id > 0", name=op.f("ck_audit_seals_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_seals")),
    )


def downgrade() -> None:
    op.drop_index(op.f(INDEX), "audit_events")
    op.drop_table("audit_seals")
