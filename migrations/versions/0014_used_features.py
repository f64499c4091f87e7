"""Names of features that an older version would overlook"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "used_features",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_used_features")),
    )


def downgrade() -> None:
    op.drop_table("used_features")
