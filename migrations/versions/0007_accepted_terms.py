"""The terms that a user accepted at registration, and when"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    # NULL in every row that is there, so that no row is rewritten.
    op.add_column("users", sa.Column("terms_url", sa.String(length=2048), nullable=True))
    op.add_column(
        "users", sa.Column("terms_accepted_at", sa.DateTime(timezone=True), nullable=True)
    )


def downgrade() -> None:
    op.drop_column("users", "terms_accepted_at")
    op.drop_column("users", "terms_url")
