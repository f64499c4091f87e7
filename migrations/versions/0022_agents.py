"""Clients that no administrator has registered, codes of devices, JWT access tokens"""

import sqlalchemy as sa
from alembic import op

from authsite.platform.db.concurrent_index import create_index

revision = "0022"
down_revision = "0021"

MOMENT = sa.DateTime(timezone=True)
URI = sa.String(length=2048)


def upgrade() -> None:
    # To delete a client that was never used must not read all token families.
    create_index("ix_families_client_id", "families", ["client_id"])
    op.add_column("clients", sa.Column("document_uri", URI, nullable=True))
    op.add_column("clients", sa.Column("document_expires_at", MOMENT, nullable=True))
    op.add_column("clients", sa.Column("asked_at", MOMENT, nullable=True))
    op.add_column("clients", sa.Column("used_at", MOMENT, nullable=True))
    op.add_column("clients", sa.Column("client_uri", URI, nullable=True))
    op.create_index(op.f("ix_clients_document_uri"), "clients", ["document_uri"], unique=True)
    op.add_column(
        "resources",
        sa.Column("tokens", sa.String(length=8), nullable=False, server_default="opaque"),
    )
    op.create_table(
        "device_codes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("client_id", sa.Uuid(), nullable=False),
        sa.Column("client_epoch", sa.Integer(), nullable=False),
        sa.Column("user_code", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=1024), nullable=False),
        sa.Column("audience", URI, nullable=True),
        sa.Column("address", sa.String(length=45), nullable=True),
        sa.Column("agent", sa.String(length=200), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("interval", sa.Integer(), nullable=False),
        sa.Column("poll_after", MOMENT, nullable=True),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("decided_at", MOMENT, nullable=True),
        sa.Column("approved", sa.Boolean(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_device_codes")),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["clients.id"],
            name=op.f("fk_device_codes_client_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_device_codes_user_id"), ondelete="CASCADE"
        ),
        sa.UniqueConstraint("user_code", name=op.f("uq_device_codes_user_code")),
    )
    op.create_index(op.f("ix_device_codes_client_id"), "device_codes", ["client_id"])
    op.create_index(op.f("ix_device_codes_user_id"), "device_codes", ["user_id"])


def downgrade() -> None:
    op.drop_table("device_codes")
    op.drop_column("resources", "tokens")
    op.drop_index(op.f("ix_families_client_id"), table_name="families")
    op.drop_index(op.f("ix_clients_document_uri"), table_name="clients")
    for name in ("client_uri", "used_at", "asked_at", "document_expires_at", "document_uri"):
        op.drop_column("clients", name)
