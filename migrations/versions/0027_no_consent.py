"""Clients for whose users an administrator answers"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    column = sa.Column("no_consent", sa.Boolean(), server_default=sa.false(), nullable=False)
    op.add_column("clients", column)


def downgrade() -> None:
    op.drop_column("clients", "no_consent")
