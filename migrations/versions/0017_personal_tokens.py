"""A table of personal access tokens"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "personal_tokens",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("user_epoch", sa.Integer(), nullable=False),
        sa.Column("client_id", sa.Uuid(), nullable=True),
        sa.Column("client_epoch", sa.Integer(), nullable=True),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("scope", sa.String(length=1024), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("revoked_at", MOMENT, nullable=True),
        sa.Column("revoked_why", sa.String(length=32), nullable=True),
        sa.Column("address", sa.String(length=45), nullable=True),
        sa.Column("agent", sa.String(length=200), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_personal_tokens")),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["users.id"],
            name=op.f("fk_personal_tokens_user_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["clients.id"],
            name=op.f("fk_personal_tokens_client_id"),
            ondelete="CASCADE",
        ),
    )
    for column in ("user_id", "client_id"):
        op.create_index(op.f(f"ix_personal_tokens_{column}"), "personal_tokens", [column])


def downgrade() -> None:
    op.drop_table("personal_tokens")
