"""How long what comes from a sign-in may last, with which identity it began; resources allowed"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"

MOMENT = sa.DateTime(timezone=True)

BOUNDED = ("web_sessions", "authorization_codes", "families")
FROM_IDENTITY = ("authorization_codes", "families", "personal_tokens")


def upgrade() -> None:
    for table in BOUNDED:
        op.add_column(table, sa.Column("ends_at", MOMENT, nullable=True))
    for table in FROM_IDENTITY:
        op.add_column(table, sa.Column("identity_id", sa.Uuid(), nullable=True))
    op.add_column("consents", sa.Column("resources", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("consents", "resources")
    for table in reversed(FROM_IDENTITY):
        op.drop_column(table, "identity_id")
    for table in reversed(BOUNDED):
        op.drop_column(table, "ends_at")
