"""Former addresses, to which a change of address can be taken back"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "former_addresses",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.String(length=320), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["users.id"],
            name=op.f("fk_former_addresses_user_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_former_addresses")),
    )
    op.create_index(op.f("ix_former_addresses_key"), "former_addresses", ["key"])
    op.create_index(op.f("ix_former_addresses_user_id"), "former_addresses", ["user_id"])


def downgrade() -> None:
    op.drop_table("former_addresses")
