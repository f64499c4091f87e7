"""Seals of the audit trail, and an index of a user's events"""

import sqlalchemy as sa
from alembic import context, op

revision = "0009"
down_revision = "0008"

INDEX = "ix_audit_events_user_id_id"
INVALID = sa.text("SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(:name) AND NOT indisvalid")


def upgrade() -> None:
    # The table of a new database is made in the same transaction, and has no rows.
    if op.get_bind().dialect.name == "postgresql" and not context.config.attributes["new"]:
        create_index_concurrently()
    else:
        op.create_index(op.f(INDEX), "audit_events", ["user_id", "id"])
    op.create_table(
        "audit_seals",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("first_id", sa.BigInteger(), nullable=False),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        sa.Column("newest_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("key", sa.String(length=12), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("former_mac", sa.String(length=64), nullable=False),
        sa.Column("mac", sa.String(length=64), nullable=False),
        sa.Column("purged_mac", sa.String(length=64), nullable=True),
        sa.CheckConstraint("id > 0", name=op.f("ck_audit_seals_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_seals")),
    )


def create_index_concurrently() -> None:
    """Events are recorded during this: the table may be large.

    It cannot be in the transaction of the migration, which has the lock that keeps others from
    migrating and has not touched the table yet. What a migration that was stopped has left of the
    index is dropped.
    """
    engine = op.get_bind().engine.execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.detach()  # its settings are not for others
        connection.exec_driver_sql("SET statement_timeout = 0")
        connection.exec_driver_sql("SET lock_timeout = 0")  # it waits, and no request waits for it
        try:
            if connection.scalar(INVALID, {"name": INDEX}):
                connection.exec_driver_sql(f"DROP INDEX CONCURRENTLY {INDEX}")
            connection.exec_driver_sql(
                f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {INDEX} ON audit_events (user_id, id)"
            )
        finally:  # behind a pooler the connection to the server stays
            connection.exec_driver_sql("RESET statement_timeout")
            connection.exec_driver_sql("RESET lock_timeout")


def downgrade() -> None:
    op.drop_index(op.f(INDEX), "audit_events")
    op.drop_table("audit_seals")
