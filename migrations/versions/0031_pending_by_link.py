"""Changes of address that are completed by their link alone"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    column = sa.Column("pending_by_link", sa.Boolean(), server_default=sa.false(), nullable=False)
    op.add_column("users", column)


def downgrade() -> None:
    op.drop_column("users", "pending_by_link")
