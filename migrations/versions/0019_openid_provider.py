"""Authorization codes, consents, signing keys, resources, URIs of clients, released usernames"""

import sqlalchemy as sa
from alembic import op

from authsite.platform.db.concurrent_index import create_index

revision = "0019"
down_revision = "0018"

MOMENT = sa.DateTime(timezone=True)
URI = sa.String(length=2048)


def upgrade() -> None:
    session_id = sa.Column("session_id", sa.Uuid(), nullable=True)
    create_index("ix_families_session_id", "families", ["session_id"], added=session_id)
    _extend_clients()
    op.create_table(
        "client_uris",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("client_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("uri", URI, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_client_uris")),
        sa.ForeignKeyConstraint(
            ["client_id"], ["clients.id"], name=op.f("fk_client_uris_client_id"), ondelete="CASCADE"
        ),
        sa.UniqueConstraint("client_id", "kind", "uri", name="uq_client_uris_client_id_kind_uri"),
    )
    op.create_index(op.f("ix_client_uris_uri"), "client_uris", ["uri"])
    op.create_table(
        "resources",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("uri", URI, nullable=False),
        sa.Column("scopes", sa.String(length=1024), nullable=False),
        sa.Column("client_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_resources")),
        sa.UniqueConstraint("uri", name=op.f("uq_resources_uri")),
        sa.ForeignKeyConstraint(
            ["client_id"], ["clients.id"], name=op.f("fk_resources_client_id"), ondelete="SET NULL"
        ),
    )
    op.create_index(op.f("ix_resources_client_id"), "resources", ["client_id"])
    op.create_table(
        "authorization_codes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("client_id", sa.Uuid(), nullable=False),
        sa.Column("client_epoch", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("user_epoch", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("redirect_uri", URI, nullable=False),
        sa.Column("code_challenge", sa.String(length=43), nullable=True),
        sa.Column("scope", sa.String(length=1024), nullable=False),
        sa.Column("audience", URI, nullable=True),
        sa.Column("nonce", sa.String(length=512), nullable=True),
        sa.Column("facts", sa.Text(), nullable=True),
        sa.Column("auth_at", MOMENT, nullable=True),
        sa.Column("recognized", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_authorization_codes")),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["clients.id"],
            name=op.f("fk_authorization_codes_client_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["users.id"],
            name=op.f("fk_authorization_codes_user_id"),
            ondelete="CASCADE",
        ),
    )
    for column in ("client_id", "user_id"):
        op.create_index(op.f(f"ix_authorization_codes_{column}"), "authorization_codes", [column])
    op.create_table(
        "consents",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("client_id", sa.Uuid(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("user_id", "client_id", name=op.f("pk_consents")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_consents_user_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["client_id"], ["clients.id"], name=op.f("fk_consents_client_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_consents_client_id"), "consents", ["client_id"])
    op.create_table(
        "signing_keys",
        sa.Column("kid", sa.String(length=43), nullable=False),
        sa.Column("alg", sa.String(length=8), nullable=False),
        sa.Column("public", sa.Text(), nullable=False),
        sa.Column("private", sa.Text(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("current_at", MOMENT, nullable=True),
        sa.Column("previous_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("kid", name=op.f("pk_signing_keys")),
    )
    op.create_table(
        "released_usernames",
        sa.Column("digest", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_released_usernames")),
    )
    op.create_index(op.f("ix_released_usernames_user_id"), "released_usernames", ["user_id"])


def _extend_clients() -> None:
    """The former version inserts clients without these columns."""

    def switch(name: str, default: sa.ColumnElement[bool]) -> sa.Column[bool]:
        return sa.Column(name, sa.Boolean(), nullable=False, server_default=default)

    for column in (
        switch("first_party", sa.false()),
        switch("pkce_optional", sa.false()),
        sa.Column("id_token_alg", sa.String(length=8), nullable=True),
        sa.Column("id_token_lifetime", sa.Integer(), nullable=True),
        switch("claims_in_id_token", sa.false()),
        switch("require_confirmed", sa.true()),
        sa.Column("require_group", sa.String(length=32), nullable=True),
        sa.Column("default_resource", URI, nullable=True),
        sa.Column("logo", URI, nullable=True),
        sa.Column("policy_uri", URI, nullable=True),
        sa.Column("tos_uri", URI, nullable=True),
    ):
        op.add_column("clients", column)


def downgrade() -> None:
    op.drop_index(op.f("ix_families_session_id"), "families")
    op.drop_column("families", "session_id")
    for table in (
        "released_usernames",
        "signing_keys",
        "consents",
        "authorization_codes",
        "resources",
        "client_uris",
    ):
        op.drop_table(table)
    for name in (
        "tos_uri",
        "policy_uri",
        "logo",
        "default_resource",
        "require_group",
        "require_confirmed",
        "claims_in_id_token",
        "id_token_lifetime",
        "id_token_alg",
        "pkce_optional",
        "first_party",
    ):
        op.drop_column("clients", name)
