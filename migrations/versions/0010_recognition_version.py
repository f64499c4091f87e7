"""Recognized browsers and addresses are bound to a counter in the row of the user"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    # With a constant default no row is rewritten.
    op.add_column(
        "users", sa.Column("recognition_version", sa.Integer(), server_default="0", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("users", "recognition_version")
