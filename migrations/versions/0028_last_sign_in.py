"""When a user last signed in"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.add_column("users", sa.Column("last_sign_in_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("users", "last_sign_in_at")
