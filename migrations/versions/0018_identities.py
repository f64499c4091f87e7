"""Identities at other providers, values that were used once, stored requests"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "identities",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("provider", sa.String(length=32), nullable=False),
        sa.Column("issuer", sa.String(length=255), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=True),
        sa.Column("trusted", sa.Boolean(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identities")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_identities_user_id"), ondelete="CASCADE"
        ),
        sa.UniqueConstraint("issuer", "subject", name="uq_identities_issuer_subject"),
    )
    op.create_index(op.f("ix_identities_user_id"), "identities", ["user_id"])
    op.create_table(
        "used_ids",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_used_ids")),
    )
    op.create_table(
        "stored_requests",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stored_requests")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_stored_requests_key_hash")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_stored_requests_user_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_stored_requests_user_id"), "stored_requests", ["user_id"])
    for table in ("web_sessions", "pending_logins"):
        op.add_column(table, sa.Column("identity_id", sa.Uuid(), nullable=True))
    op.add_column("web_sessions", sa.Column("confirmed_at", MOMENT, nullable=True))


def downgrade() -> None:
    op.drop_column("web_sessions", "confirmed_at")
    for table in ("pending_logins", "web_sessions"):
        op.drop_column(table, "identity_id")
    for table in ("stored_requests", "used_ids", "identities"):
        op.drop_table(table)
