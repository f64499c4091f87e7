"""All tables"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

MOMENT = sa.DateTime(timezone=True)
URI = sa.String(2048)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
BINARY = 'COLLATE "C"'  # SQLite's own order

TABLES = (  # in the order in which they are created
    "users", "login_names", "former_addresses", "released_usernames", "identities", "groups",
    "group_members", "group_changes", "invitations", "clients", "client_uris", "resources",
    "consents", "signing_keys", "web_sessions", "pending_logins", "totp_factors", "passkeys",
    "recovery_codes", "remembered_browsers", "families", "personal_tokens", "authorization_codes",
    "device_codes", "audit_events", "audit_seals", "denied_requests", "outbox", "limit_counters",
    "stored_requests", "used_ids", "installation_records", "used_features", "heartbeats",
)  # fmt: skip


def upgrade() -> None:
    _create_users()
    _create_groups()
    _create_clients()
    _create_sign_ins()
    _create_tokens()
    _create_audit()
    _create_others()


def _user_id(**options: bool) -> sa.Column[Any]:
    return sa.Column("user_id", sa.Uuid(), sa.ForeignKey("users.id", ondelete="CASCADE"), **options)


def _client_id(**options: bool) -> sa.Column[Any]:
    return sa.Column(
        "client_id", sa.Uuid(), sa.ForeignKey("clients.id", ondelete="CASCADE"), **options
    )


def _create_partial_index(name: str, table: str, columns: Sequence[str], where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)


def _create_users() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("pending_email", sa.String(254)),
        sa.Column("pending_epoch", sa.Integer()),
        sa.Column("pending_expires_at", MOMENT),
        sa.Column("pending_asked_at", MOMENT),
        sa.Column("pending_by_link", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("username", sa.String(64)),
        sa.Column("phone", sa.String(20)),
        sa.Column("name", sa.String(1024)),
        sa.Column("password_hash", sa.String(200)),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("recovery_version", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("recognition_version", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("email_verified_at", MOMENT),
        sa.Column("disabled_at", MOMENT),
        sa.Column("delete_at", MOMENT),
        sa.Column("terms_url", URI),
        sa.Column("terms_accepted_at", MOMENT),
        sa.Column("language", sa.String(16)),
        sa.Column("links_ended_at", MOMENT),
        sa.Column("second_factor_at", MOMENT),
        sa.Column("factors_since", MOMENT),
        sa.Column("factor_version", sa.Integer(), nullable=False, server_default="0"),
        sa.Column(
            "passkey_after_password", sa.Boolean(), nullable=False, server_default=sa.false()
        ),
        sa.Column("labels", sa.Text()),
        sa.Column("origin", sa.String(16), nullable=False),
        sa.Column("last_sign_in_at", MOMENT),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("folded_name", sa.String(200)),
    )
    _create_partial_index("ix_users_delete_at", "users", ["delete_at"], "delete_at IS NOT NULL")
    _create_partial_index(
        "ix_users_disabled", "users", ["created_at", "id"], "disabled_at IS NOT NULL"
    )
    op.create_index(
        "ix_users_folded_name",
        "users",
        ["folded_name", "id"],
        postgresql_ops={"folded_name": BINARY},
    )
    op.create_index("ix_users_newest", "users", ["created_at", "id"])
    _create_partial_index(
        "ix_users_unconfirmed", "users", ["created_at", "id"], "email_verified_at IS NULL"
    )
    op.create_table(
        "login_names",
        sa.Column("key", sa.String(320), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        _user_id(nullable=False, index=True),
    )
    op.create_index("ix_login_names_prefix", "login_names", ["key"], postgresql_ops={"key": BINARY})
    op.create_table(
        "former_addresses",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _user_id(nullable=False, index=True),
        sa.Column("key", sa.String(320), nullable=False, index=True),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("confirmed_at", MOMENT),
        sa.Column("links_ended_at", MOMENT),
    )
    op.create_table(
        "released_usernames",
        sa.Column("digest", sa.String(40), primary_key=True),
        sa.Column("user_id", sa.Uuid(), index=True),
        sa.Column("expires_at", MOMENT, nullable=False),
    )
    op.create_table(
        "identities",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _user_id(nullable=False, index=True),
        sa.Column("provider", sa.String(32), nullable=False),
        sa.Column("issuer", sa.String(255), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("email", sa.String(254)),
        sa.Column("trusted", sa.Boolean(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT),
        sa.UniqueConstraint("issuer", "subject"),
    )


def _create_groups() -> None:
    op.create_table(
        "groups",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("title", sa.String(100), nullable=False),
        sa.Column("require_acr", sa.String(64)),
        sa.Column("scopes", sa.String(1024), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
    )
    op.create_table(
        "group_members",
        _user_id(primary_key=True),
        sa.Column("group_name", sa.String(32), primary_key=True, index=True),
        sa.Column("created_at", MOMENT, nullable=False),
    )
    op.create_index(
        "ix_group_members_group_name_user_id", "group_members", ["group_name", "user_id"]
    )
    op.create_table(
        "group_changes",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("group_name", sa.String(32), nullable=False),
        sa.Column("deletes", sa.Boolean(), nullable=False),
        sa.Column("lost", sa.Text(), nullable=False),
        sa.Column("relabel", sa.Boolean(), nullable=False),
        sa.Column("after", sa.Uuid()),
        sa.Column("member_count", sa.Integer(), nullable=False),
        sa.Column("done_count", sa.Integer(), nullable=False),
        sa.Column("cause", sa.JSON(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
    )
    op.create_table(
        "invitations",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("key", sa.String(320), nullable=False, index=True),
        sa.Column("group_name", sa.String(32)),
        sa.Column("inviter_id", sa.Uuid(), index=True),
        sa.Column("client_id", sa.Uuid()),
        sa.Column("version", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
    )
    op.create_index("ix_invitations_created_at_id", "invitations", ["created_at", "id"])


def _create_clients() -> None:
    op.create_table(
        "clients",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("previous_secret_hash", sa.String(64)),
        sa.Column("scope", sa.String(1024), nullable=False),
        sa.Column("default_scope", sa.String(1024), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("disabled_at", MOMENT),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("grant_types", sa.String(1024)),
        sa.Column("first_party", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("no_consent", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("pkce_optional", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("id_token_alg", sa.String(8)),
        sa.Column("id_token_lifetime", sa.Integer()),
        sa.Column("claims_in_id_token", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("require_confirmed", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("require_group", sa.String(32)),
        sa.Column("default_resource", URI),
        sa.Column("logo", URI),
        sa.Column("policy_uri", URI),
        sa.Column("tos_uri", URI),
        sa.Column("document_uri", URI, index=True, unique=True),
        sa.Column("document_expires_at", MOMENT),
        sa.Column("asked_at", MOMENT),
        sa.Column("used_at", MOMENT),
        sa.Column("client_uri", URI),
        sa.Column("folded_name", sa.String(200)),
    )
    op.create_table(
        "client_uris",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _client_id(nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("uri", URI, nullable=False, index=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.UniqueConstraint("client_id", "kind", "uri"),
    )
    op.create_table(
        "resources",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("uri", URI, nullable=False, unique=True),
        sa.Column("scopes", sa.String(1024), nullable=False),
        sa.Column(
            "client_id", sa.Uuid(), sa.ForeignKey("clients.id", ondelete="SET NULL"), index=True
        ),
        sa.Column("tokens", sa.String(8), nullable=False, server_default="opaque"),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
    )
    op.create_table(
        "consents",
        _user_id(primary_key=True),
        _client_id(primary_key=True, index=True),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("resources", sa.Text()),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT),
    )
    op.create_table(
        "signing_keys",
        sa.Column("kid", sa.String(43), primary_key=True),
        sa.Column("alg", sa.String(8), nullable=False),
        sa.Column("public", sa.Text(), nullable=False),
        sa.Column("private", sa.Text()),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("current_at", MOMENT),
        sa.Column("previous_at", MOMENT),
    )


def _create_sign_ins() -> None:
    op.create_table(
        "web_sessions",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("key_hash", sa.String(64), nullable=False, unique=True),
        _user_id(nullable=False, index=True),
        sa.Column("user_epoch", sa.Integer(), nullable=False),
        sa.Column("remember", sa.Boolean(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("address", sa.String(45)),
        sa.Column("agent", sa.String(200)),
        sa.Column("facts", sa.Text()),
        sa.Column("auth_at", MOMENT, nullable=False),
        sa.Column("recognized", MOMENT),
        sa.Column("identity_id", sa.Uuid()),
        sa.Column("ends_at", MOMENT),
        sa.Column("confirmed_at", MOMENT),
        postgresql_with={"fillfactor": 90},  # for the time of the last use (HOT)
    )
    op.create_table(
        "pending_logins",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("key_hash", sa.String(64), nullable=False, unique=True),
        _user_id(index=True),
        sa.Column("user_epoch", sa.Integer()),
        _client_id(index=True),
        sa.Column("client_epoch", sa.Integer()),
        sa.Column("scope", sa.String(1024)),
        sa.Column("remember", sa.Boolean(), nullable=False),
        sa.Column("amr", sa.String(200), nullable=False),
        sa.Column("enroll", sa.Boolean(), nullable=False),
        sa.Column("recognized", MOMENT),
        sa.Column("unrecognized", sa.Boolean(), nullable=False),
        sa.Column("next", URI),
        sa.Column("identity_id", sa.Uuid()),
        sa.Column("resource", URI),
        sa.Column("auth_at", MOMENT),
        sa.Column("factor_version", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("session_id", sa.Uuid()),
        sa.Column("name_hash", sa.String(16)),
        sa.Column("registered", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("address", sa.String(45)),
        sa.Column("agent", sa.String(200)),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
    )
    op.create_table(
        "totp_factors",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _user_id(nullable=False, unique=True),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("digits", sa.Integer(), nullable=False),
        sa.Column("period", sa.Integer(), nullable=False),
        sa.Column("algorithm", sa.String(8), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT),
    )
    op.create_table(
        "passkeys",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _user_id(nullable=False, index=True),
        sa.Column("credential_id", sa.String(1400), nullable=False, unique=True),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("user_handle", sa.String(64), nullable=False),
        sa.Column("rp_id", sa.String(253), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("aaguid", sa.Uuid(), nullable=False),
        sa.Column("transports", sa.String(200), nullable=False),
        sa.Column("backup_eligible", sa.Boolean(), nullable=False),
        sa.Column("backed_up", sa.Boolean(), nullable=False),
        sa.Column("uv_initialized", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _user_id(nullable=False, index=True),
        sa.Column("mac", sa.String(96), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT),
    )
    op.create_table(
        "remembered_browsers",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _user_id(nullable=False, index=True),
        sa.Column("factor_version", sa.Integer(), nullable=False),
        sa.Column("recovery_version", sa.Integer(), nullable=False),
        sa.Column("address", sa.String(45)),
        sa.Column("agent", sa.String(200)),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
    )


def _create_tokens() -> None:
    op.create_table(
        "families",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _client_id(index=True),
        sa.Column("owner_kind", sa.String(8), nullable=False),
        _user_id(),
        sa.Column("granted_scope", sa.String(1024), nullable=False),
        sa.Column("scope", sa.String(1024), nullable=False),
        sa.Column("rescoped", sa.Boolean(), nullable=False),
        sa.Column("user_epoch", sa.Integer()),
        sa.Column("client_epoch", sa.Integer()),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("rotated_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT),
        sa.Column("refresh_expires_at", MOMENT, nullable=False),
        sa.Column("revoked_at", MOMENT),
        sa.Column("revoked_why", sa.String(32)),
        sa.Column("address", sa.String(45)),
        sa.Column("agent", sa.String(200)),
        sa.Column("facts", sa.Text()),
        sa.Column("auth_at", MOMENT),
        sa.Column("recognized", MOMENT),
        sa.Column("session_id", sa.Uuid()),
        sa.Column("identity_id", sa.Uuid()),
        sa.Column("ends_at", MOMENT),
        sa.CheckConstraint("(owner_kind = 'user') = (user_id IS NOT NULL)", name="owner"),
        # Free space on each page, so that a refresh can write the new row version there (HOT).
        postgresql_with={"fillfactor": 80},
    )
    _create_partial_index(
        "ix_families_of_session", "families", ["session_id"], "session_id IS NOT NULL"
    )
    _create_partial_index("ix_families_of_user", "families", ["user_id"], "user_id IS NOT NULL")
    op.create_table(
        "personal_tokens",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _user_id(nullable=False, index=True),
        sa.Column("user_epoch", sa.Integer(), nullable=False),
        _client_id(index=True),
        sa.Column("client_epoch", sa.Integer()),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("identity_id", sa.Uuid()),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("scope", sa.String(1024), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("revoked_at", MOMENT),
        sa.Column("revoked_why", sa.String(32)),
        sa.Column("address", sa.String(45)),
        sa.Column("agent", sa.String(200)),
    )
    op.create_table(
        "authorization_codes",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _client_id(nullable=False, index=True),
        sa.Column("client_epoch", sa.Integer(), nullable=False),
        _user_id(nullable=False, index=True),
        sa.Column("user_epoch", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("redirect_uri", URI, nullable=False),
        sa.Column("code_challenge", sa.String(43)),
        sa.Column("scope", sa.String(1024), nullable=False),
        sa.Column("audience", URI),
        sa.Column("nonce", sa.String(512)),
        sa.Column("facts", sa.Text()),
        sa.Column("auth_at", MOMENT, nullable=False),
        sa.Column("recognized", MOMENT),
        sa.Column("identity_id", sa.Uuid()),
        sa.Column("ends_at", MOMENT),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT),
    )
    op.create_table(
        "device_codes",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _client_id(nullable=False, index=True),
        sa.Column("client_epoch", sa.Integer(), nullable=False),
        sa.Column("user_code", sa.String(64), nullable=False, unique=True),
        sa.Column("scope", sa.String(1024), nullable=False),
        sa.Column("audience", URI),
        sa.Column("address", sa.String(45)),
        sa.Column("agent", sa.String(200)),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("interval", sa.Integer(), nullable=False),
        sa.Column("poll_after", MOMENT),
        _user_id(index=True),
        sa.Column("decided_at", MOMENT),
        sa.Column("approved", sa.Boolean()),
    )


def _create_audit() -> None:
    op.create_table(
        "audit_events",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("at", MOMENT, nullable=False, index=True),
        sa.Column("event", sa.String(64), nullable=False),
        sa.Column("user_id", sa.Uuid()),
        sa.Column("client_id", sa.Uuid()),
        sa.Column("address", sa.String(45)),
        sa.Column("agent", sa.String(200)),
        sa.Column("request_id", sa.String(64)),
        sa.Column("details", sa.JSON()),
    )
    _create_partial_index(
        "ix_audit_events_of_user", "audit_events", ["user_id", "id"], "user_id IS NOT NULL"
    )
    op.create_table(
        "audit_seals",
        sa.Column("id", SERIAL, primary_key=True, autoincrement=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("first_id", sa.BigInteger(), nullable=False),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        sa.Column("newest_at", MOMENT, nullable=False),
        sa.Column("key", sa.String(12), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("former_mac", sa.String(64), nullable=False),
        sa.Column("mac", sa.String(64), nullable=False),
        sa.Column("purged_mac", sa.String(64)),
        sa.CheckConstraint("id > 0", name="id"),
    )
    op.create_table(
        "denied_requests",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("request_id", sa.String(64), nullable=False, index=True),
        sa.Column("route", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(64), nullable=False),
        sa.Column("reason", sa.String(64)),
        sa.Column("client_id", sa.Uuid()),
        sa.Column("address", sa.String(45)),
        sa.Column("details", sa.JSON()),
    )


def _create_others() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("letter", sa.String(64), nullable=False),
        sa.Column("user_id", sa.Uuid(), index=True),
        sa.Column("address", sa.String(254), nullable=False),
        sa.Column("about_id", sa.Uuid()),
        sa.Column("about_since", MOMENT),
        sa.Column("page_url", URI),
        sa.Column("base_url", URI),
        sa.Column("language", sa.String(16), nullable=False),
        sa.Column("from_address", sa.String(45)),
        sa.Column("from_agent", sa.String(200)),
        sa.Column("expires_at", MOMENT),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("give_up_at", MOMENT, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", MOMENT, nullable=False),
        sa.Column("lease_until", MOMENT),
        sa.Column("lease_owner", sa.String(64)),
        sa.Column("last_error", sa.String(200)),
        sa.Column("ended_at", MOMENT),
    )
    op.create_index("ix_outbox_created_at_id_state", "outbox", ["created_at", "id", "state"])
    _create_partial_index("ix_outbox_due", "outbox", ["next_attempt_at"], "state = 'waiting'")
    op.create_table(
        "limit_counters",
        sa.Column("key", sa.String(128), primary_key=True),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False, index=True),
        postgresql_with={"fillfactor": 70},  # for the next count (HOT)
    )
    op.create_table(
        "stored_requests",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("key_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("kind", sa.String(32), nullable=False),
        _user_id(index=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
    )
    op.create_table(
        "used_ids",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("expires_at", MOMENT, nullable=False),
    )
    op.create_table(
        "installation_records",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("value", sa.String(64), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
    )
    op.create_table(
        "used_features",
        sa.Column("name", sa.String(64), primary_key=True),
    )
    op.create_table(
        "heartbeats",
        sa.Column("process", sa.Uuid(), primary_key=True),
        sa.Column("moment", sa.BigInteger(), nullable=False),
        sa.Column("written_at", MOMENT, nullable=False),
    )


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
