"""Invitations, deletion at a later time, and the order of the lists of users"""

import sqlalchemy as sa
from alembic import op

from authsite.platform.db.concurrent_index import create_index

revision = "0021"
down_revision = "0020"

MOMENT = sa.DateTime(timezone=True)


OF_GROUP = "ix_group_members_group_name_user_id"


def upgrade() -> None:
    create_index("ix_outbox_created_at_id_state", "outbox", ["created_at", "id", "state"])
    create_index(OF_GROUP, "group_members", ["group_name", "user_id"])
    op.add_column("users", sa.Column("delete_at", MOMENT, nullable=True))
    op.create_table(
        "invitations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("key", sa.String(length=320), nullable=False),
        sa.Column("group_name", sa.String(length=32), nullable=True),
        sa.Column("inviter_id", sa.Uuid(), nullable=True),
        sa.Column("client_id", sa.Uuid(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
    )
    op.create_index(op.f("ix_invitations_key"), "invitations", ["key"])
    op.create_index(op.f("ix_invitations_inviter_id"), "invitations", ["inviter_id"])
    op.create_index(op.f("ix_invitations_created_at_id"), "invitations", ["created_at", "id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_outbox_created_at_id_state"), table_name="outbox")
    op.drop_index(op.f(OF_GROUP), "group_members")
    op.drop_table("invitations")
    op.drop_column("users", "delete_at")
