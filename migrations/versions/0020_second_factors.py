"""Authenticator apps, passkeys, recovery codes, remembered browsers"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    # The former version inserts users and pending logins without these columns.
    for column in (
        sa.Column("second_factor_at", MOMENT, nullable=True),
        sa.Column("factors_since", MOMENT, nullable=True),
        sa.Column("factor_version", sa.Integer(), nullable=False, server_default="0"),
        sa.Column(
            "passkey_after_password", sa.Boolean(), nullable=False, server_default=sa.false()
        ),
    ):
        op.add_column("users", column)
    for column in (
        sa.Column("auth_at", MOMENT, nullable=True),
        sa.Column("factor_version", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("session_id", sa.Uuid(), nullable=True),
        sa.Column("name_hash", sa.String(length=16), nullable=True),
        sa.Column("registered", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("resource", sa.String(length=2048), nullable=True),
    ):
        op.add_column("pending_logins", column)
    op.add_column("outbox", sa.Column("about_since", MOMENT, nullable=True))
    op.create_table(
        "totp_factors",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("digits", sa.Integer(), nullable=False),
        sa.Column("period", sa.Integer(), nullable=False),
        sa.Column("algorithm", sa.String(length=8), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_totp_factors")),
        sa.UniqueConstraint("user_id", name=op.f("uq_totp_factors_user_id")),
        _user_of("totp_factors"),
    )
    op.create_table(
        "passkeys",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("credential_id", sa.String(length=1400), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("user_handle", sa.String(length=64), nullable=False),
        sa.Column("rp_id", sa.String(length=253), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("aaguid", sa.Uuid(), nullable=False),
        sa.Column("transports", sa.String(length=200), nullable=False),
        sa.Column("backup_eligible", sa.Boolean(), nullable=False),
        sa.Column("backed_up", sa.Boolean(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passkeys")),
        sa.UniqueConstraint("credential_id", name=op.f("uq_passkeys_credential_id")),
        _user_of("passkeys"),
    )
    op.create_index(op.f("ix_passkeys_user_id"), "passkeys", ["user_id"])
    op.create_table(
        "recovery_codes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("mac", sa.String(length=96), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recovery_codes")),
        _user_of("recovery_codes"),
    )
    op.create_index(op.f("ix_recovery_codes_user_id"), "recovery_codes", ["user_id"])
    op.create_table(
        "remembered_browsers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("factor_version", sa.Integer(), nullable=False),
        sa.Column("recovery_version", sa.Integer(), nullable=False),
        sa.Column("address", sa.String(length=45), nullable=True),
        sa.Column("agent", sa.String(length=200), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_remembered_browsers")),
        _user_of("remembered_browsers"),
    )
    op.create_index(op.f("ix_remembered_browsers_user_id"), "remembered_browsers", ["user_id"])


def _user_of(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_user_id")
    return sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=name, ondelete="CASCADE")


def downgrade() -> None:
    for table in ("remembered_browsers", "recovery_codes", "passkeys", "totp_factors"):
        op.drop_table(table)
    op.drop_column("outbox", "about_since")
    for name in ("resource", "registered", "name_hash", "session_id", "factor_version", "auth_at"):
        op.drop_column("pending_logins", name)
    for name in ("passkey_after_password", "factor_version", "factors_since", "second_factor_at"):
        op.drop_column("users", name)
