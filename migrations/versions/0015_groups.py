"""Groups of users; how an account came into being"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    # NULL in every row that is there, so that no row is rewritten.
    op.add_column("users", sa.Column("origin", sa.String(length=16), nullable=True))
    op.create_table(
        "groups",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("title", sa.String(length=100), nullable=False),
        sa.Column("require_acr", sa.String(length=64), nullable=True),
        sa.Column("scopes", sa.String(length=1024), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_groups")),
    )
    op.create_table(
        "group_members",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("group_name", sa.String(length=32), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "group_name", name=op.f("pk_group_members")),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["users.id"],
            name=op.f("fk_group_members_user_id"),
            ondelete="CASCADE",
        ),
    )
    op.create_index(op.f("ix_group_members_group_name"), "group_members", ["group_name"])


def downgrade() -> None:
    op.drop_table("group_members")
    op.drop_table("groups")
    op.drop_column("users", "origin")
