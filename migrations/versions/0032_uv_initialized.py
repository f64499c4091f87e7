"""Passkeys whose user verification counts"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    column = sa.Column("uv_initialized", sa.Boolean(), server_default=sa.false(), nullable=False)
    op.add_column("passkeys", column)


def downgrade() -> None:
    op.drop_column("passkeys", "uv_initialized")
