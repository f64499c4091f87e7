"""Indexes of families and events without the rows that have no user or no session"""

from alembic import op

from authsite.platform.db.concurrent_index import create_index

revision = "0026"
down_revision = "0025"

# Table, former index, new index and columns. A row without a value in the first column, such as one
# of a client that acts for itself, is not in the new index.
REPLACED = (
    ("families", "ix_families_user_id", "ix_families_of_user", ["user_id"]),
    ("families", "ix_families_session_id", "ix_families_of_session", ["session_id"]),
    ("audit_events", "ix_audit_events_user_id_id", "ix_audit_events_of_user", ["user_id", "id"]),
)


def upgrade() -> None:
    for table, _, new, columns in REPLACED:
        create_index(new, table, columns, where=f"{columns[0]} IS NOT NULL")
    for table, former, _, _ in REPLACED:
        op.drop_index(op.f(former), table)


def downgrade() -> None:
    for table, former, _, columns in REPLACED:
        create_index(former, table, columns)
    for table, _, new, _ in REPLACED:
        op.drop_index(op.f(new), table)
