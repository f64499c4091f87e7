"""The latest denied requests, which `authsite explain` finds"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.create_table(
        "denied_requests",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("route", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.String(length=64), nullable=True),
        sa.Column("client_id", sa.Uuid(), nullable=True),
        sa.Column("address", sa.String(length=45), nullable=True),
        sa.Column("details", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_denied_requests")),
    )
    op.create_index(op.f("ix_denied_requests_request_id"), "denied_requests", ["request_id"])


def downgrade() -> None:
    op.drop_table("denied_requests")
