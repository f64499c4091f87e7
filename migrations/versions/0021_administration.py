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
    _create_indexes_of_users()
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


def _create_indexes_of_users() -> None:
    """The orders in which administrators list users, and those who are to be erased."""
    binary = ' COLLATE "C"' if op.get_bind().dialect.name == "postgresql" else ""  # SQLite's own
    create_index(
        "ix_users_delete_at",
        "users",
        ["delete_at"],
        sa.Column("delete_at", MOMENT, nullable=True),
        where="delete_at IS NOT NULL",
    )
    newest = ["created_at", "id"]
    create_index("ix_users_newest", "users", newest)
    create_index("ix_users_disabled", "users", newest, where="disabled_at IS NOT NULL")
    create_index("ix_users_unconfirmed", "users", newest, where="email_verified_at IS NULL")
    create_index("ix_users_name", "users", [f"lower(name){binary}", "id"])
    create_index("ix_login_names_prefix", "login_names", [f"key{binary}"])


def downgrade() -> None:
    op.drop_index("ix_login_names_prefix", "login_names")
    for name in ("name", "unconfirmed", "disabled", "newest", "delete_at"):
        op.drop_index(f"ix_users_{name}", "users")
    op.drop_index(op.f("ix_outbox_created_at_id_state"), table_name="outbox")
    op.drop_index(op.f(OF_GROUP), "group_members")
    op.drop_table("invitations")
    op.drop_column("users", "delete_at")
