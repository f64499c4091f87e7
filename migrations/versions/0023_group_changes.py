"""Changes of groups that are being applied to their members"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.create_table(
        "group_changes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("group_name", sa.String(length=32), nullable=False),
        sa.Column("deletes", sa.Boolean(), nullable=False),
        sa.Column("lost", sa.Text(), nullable=False),
        sa.Column("relabel", sa.Boolean(), nullable=False),
        sa.Column("after", sa.Uuid(), nullable=True),
        sa.Column("member_count", sa.Integer(), nullable=False),
        sa.Column("done_count", sa.Integer(), nullable=False),
        sa.Column("cause", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_group_changes")),
    )


def downgrade() -> None:
    op.drop_table("group_changes")
