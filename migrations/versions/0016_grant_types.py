"""The grant types of a client"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    # NULL: those of the client's type, so that no row is rewritten.
    op.add_column("clients", sa.Column("grant_types", sa.String(length=1024), nullable=True))


def downgrade() -> None:
    op.drop_column("clients", "grant_types")
