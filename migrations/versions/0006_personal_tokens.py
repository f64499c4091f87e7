"""The name of a personal access token; what a mail is about"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    # NULL in every row that is there, so that no row is rewritten.
    op.add_column("families", sa.Column("name", sa.String(length=100), nullable=True))
    op.add_column("outbox", sa.Column("about_id", sa.Uuid(), nullable=True))


def downgrade() -> None:
    op.drop_column("outbox", "about_id")
    op.drop_column("families", "name")
