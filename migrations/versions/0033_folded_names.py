"""Names as they are searched"""

import sqlalchemy as sa
from alembic import op

from authsite.platform.db.concurrent_index import create_index

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    binary = ' COLLATE "C"' if op.get_bind().dialect.name == "postgresql" else ""
    create_index(
        "ix_users_folded_name",
        "users",
        [f"folded_name{binary}", "id"],
        sa.Column("folded_name", sa.String(200)),
    )
    op.add_column("clients", sa.Column("folded_name", sa.String(200)))
    op.execute("UPDATE clients SET folded_name = lower(name)")  # they are few
    op.drop_index(op.f("ix_users_name"), "users")


def downgrade() -> None:
    binary = ' COLLATE "C"' if op.get_bind().dialect.name == "postgresql" else ""
    create_index("ix_users_name", "users", [f"lower(name){binary}", "id"])
    op.drop_column("clients", "folded_name")
    op.drop_index(op.f("ix_users_folded_name"), "users")
    op.drop_column("users", "folded_name")
