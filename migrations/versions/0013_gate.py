"""Pending logins; how and when a user signed in"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    # NULL in every row that is there, so that no row is rewritten.
    op.add_column("users", sa.Column("labels", sa.Text(), nullable=True))
    for table in ("web_sessions", "families"):
        op.add_column(table, sa.Column("facts", sa.Text(), nullable=True))
        op.add_column(table, sa.Column("auth_at", MOMENT, nullable=True))
        op.add_column(table, sa.Column("recognized", MOMENT, nullable=True))
    op.create_table(
        "pending_logins",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("user_epoch", sa.Integer(), nullable=True),
        sa.Column("client_id", sa.Uuid(), nullable=True),
        sa.Column("client_epoch", sa.Integer(), nullable=True),
        sa.Column("scope", sa.String(length=1024), nullable=True),
        sa.Column("remember", sa.Boolean(), nullable=False),
        sa.Column("amr", sa.String(length=200), nullable=False),
        sa.Column("enroll", sa.Boolean(), nullable=False),
        sa.Column("recognized", MOMENT, nullable=True),
        sa.Column("unrecognized", sa.Boolean(), nullable=False),
        sa.Column("next", sa.String(length=2048), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("address", sa.String(length=45), nullable=True),
        sa.Column("agent", sa.String(length=200), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pending_logins")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_pending_logins_key_hash")),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["users.id"],
            name=op.f("fk_pending_logins_user_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["clients.id"],
            name=op.f("fk_pending_logins_client_id"),
            ondelete="CASCADE",
        ),
    )
    for column in ("user_id", "client_id"):
        op.create_index(op.f(f"ix_pending_logins_{column}"), "pending_logins", [column])


def downgrade() -> None:
    op.drop_table("pending_logins")
    for table in ("families", "web_sessions"):
        for column in ("recognized", "auth_at", "facts"):
            op.drop_column(table, column)
    op.drop_column("users", "labels")
