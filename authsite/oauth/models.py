"""Clients, the resources of tokens, token families and personal access tokens."""

import uuid
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, String, Text, UniqueConstraint, false, true
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base, partial_index
from authsite.platform.db.folded import FoldedName

RESOURCE_SERVER = "resource-server"  # may introspect the access tokens of all clients
SERVER, BROWSER, NATIVE = "server", "browser", "native"
DOCUMENT = "document"  # its id is the URL of a document that describes it
DYNAMIC = "dynamic"  # it registered itself (RFC 7591)
UNVERIFIED_TYPES = (DOCUMENT, DYNAMIC)  # no administrator has registered them
CODE_TYPES = (SERVER, BROWSER, NATIVE, *UNVERIFIED_TYPES)  # they sign a person in with a code
PUBLIC_TYPES = (BROWSER, NATIVE, DOCUMENT, DYNAMIC)  # can be without a secret (RFC 6749, 2.1)
PROGRAM_TYPES = (NATIVE, DOCUMENT, DYNAMIC)  # can be a program on the user's computer (RFC 8252)
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_CODE_GRANTS = ("authorization_code", "refresh_token")
# The types of clients. Each is a preset of the grant types (RFC 7591, section 2).
CLIENT_TYPES: Mapping[str, tuple[str, ...]] = {
    "password": ("password", "refresh_token"),
    "personal": ("client_credentials", "refresh_token"),
    RESOURCE_SERVER: (),
    SERVER: _CODE_GRANTS,
    BROWSER: _CODE_GRANTS,
    NATIVE: (*_CODE_GRANTS, DEVICE_GRANT),
    DOCUMENT: _CODE_GRANTS,
    DYNAMIC: _CODE_GRANTS,
}
# The types that an administrator can give a client.
REGISTRABLE_TYPES = tuple(each for each in CLIENT_TYPES if each not in UNVERIFIED_TYPES)
OPAQUE, JWT = "opaque", "jwt"  # the forms of access tokens for a resource
REDIRECT, POST_LOGOUT, ORIGIN = "redirect", "post_logout", "origin"  # the kinds of `ClientUri`
MAX_URI = 2048  # characters
MAX_URIS = 100  # of a client and a kind

PASSWORD_GRANT = "password"
MFA_GRANT = "urn:authsite:params:oauth:grant-type:mfa"
PASSKEY_GRANT = "urn:authsite:params:oauth:grant-type:passkey"


def may_use(client_type: str, stored: str | None, grant_type: str) -> bool:
    """Whether a client may use a grant, with the grant types ``stored`` with it.

    Who logs users in with a password may also do so with a passkey, and must be able to send the
    second factor of a login that has begun.
    """
    listed = grant_types_of(client_type, stored)
    if grant_type in listed:
        return True
    if grant_type == PASSKEY_GRANT:
        return PASSWORD_GRANT in listed
    return grant_type == MFA_GRANT and not {PASSWORD_GRANT, PASSKEY_GRANT}.isdisjoint(listed)


def grant_types_of(client_type: str, stored: str | None) -> tuple[str, ...]:
    """The grant types that a client may use: those ``stored`` with it, else those of its type."""
    return CLIENT_TYPES.get(client_type, ()) if stored is None else tuple(stored.split())


def may_refresh(client_type: str, stored: str | None) -> bool:
    """Whether a client may use refresh tokens, with the grant types ``stored`` with it."""
    return "refresh_token" in grant_types_of(client_type, stored)


class Client(FoldedName, Base):
    """An OAuth client. Two secrets may be valid, so that a rotation interrupts no one.

    ``grant_types``: a set, separated by blanks; NULL for those of the type (`grant_types_of`).
    ``secret_hash`` is empty for a public client.

    The columns behind ``grant_types`` are for the types in `CODE_TYPES`, but ``require_group`` is
    for all logins, and ``default_resource`` for all tokens. ``no_consent``: an administrator
    answers for the users, who are not asked for what the client may have anyway; unlike
    ``first_party`` this opens nothing, and the client stays a third party's. ``pkce_optional``: a
    request without PKCE is accepted (RFC 7636). ``id_token_alg``: the name of RFC 7518, NULL for
    RS256. ``id_token_lifetime``: seconds, NULL for the setting. ``claims_in_id_token``: the claims
    of the user are also in the ID token, not only at the userinfo endpoint.

    ``document_uri``: of a client of type `DOCUMENT`, the URL that is its ``client_id``;
    ``document_expires_at``: until when the document counts that was fetched last. Of the types in
    `UNVERIFIED_TYPES`, ``asked_at``: when a signed-in user first came with it, before it was used;
    ``used_at``: when it got its first tokens. Until then the row is deleted after a day.
    """

    __tablename__ = "clients"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    type: Mapped[str] = mapped_column(String(16))
    secret_hash: Mapped[str] = mapped_column(String(64))
    previous_secret_hash: Mapped[str | None] = mapped_column(String(64))
    scope: Mapped[str] = mapped_column(String(1024), default="")
    default_scope: Mapped[str] = mapped_column(String(1024), default="")
    epoch: Mapped[int] = mapped_column(default=0)
    disabled_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    grant_types: Mapped[str | None] = mapped_column(String(1024))
    first_party: Mapped[bool] = mapped_column(default=False, server_default=false())
    no_consent: Mapped[bool] = mapped_column(default=False, server_default=false())
    pkce_optional: Mapped[bool] = mapped_column(default=False, server_default=false())
    id_token_alg: Mapped[str | None] = mapped_column(String(8))
    id_token_lifetime: Mapped[int | None]
    claims_in_id_token: Mapped[bool] = mapped_column(default=False, server_default=false())
    require_confirmed: Mapped[bool] = mapped_column(default=True, server_default=true())
    require_group: Mapped[str | None] = mapped_column(String(32))
    default_resource: Mapped[str | None] = mapped_column(String(MAX_URI))
    logo: Mapped[str | None] = mapped_column(String(MAX_URI))
    policy_uri: Mapped[str | None] = mapped_column(String(MAX_URI))
    tos_uri: Mapped[str | None] = mapped_column(String(MAX_URI))
    document_uri: Mapped[str | None] = mapped_column(String(MAX_URI), index=True, unique=True)
    document_expires_at: Mapped[datetime | None]
    asked_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]
    client_uri: Mapped[str | None] = mapped_column(String(MAX_URI))


class ClientUri(Base):
    """A URI that is registered for a client.

    ``kind``: `REDIRECT`, where an authorization request may lead; `POST_LOGOUT`, where a logout may
    lead; `ORIGIN`, whose scripts may call the token endpoint. ``position`` keeps their order.
    """

    __tablename__ = "client_uris"
    __table_args__ = (
        UniqueConstraint("client_id", "kind", "uri", name="uq_client_uris_client_id_kind_uri"),
    )

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    client_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("clients.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(16))
    uri: Mapped[str] = mapped_column(String(MAX_URI), index=True)
    position: Mapped[int]


class Resource(Base):
    """A resource that tokens can be for (RFC 8707).

    ``scopes``: those that a token for it may have, separated by blanks. ``client_id``: the resource
    server that may introspect such a token; NULL for none. ``tokens``: `OPAQUE` or `JWT`.
    """

    __tablename__ = "resources"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    uri: Mapped[str] = mapped_column(String(MAX_URI), unique=True)
    scopes: Mapped[str] = mapped_column(String(1024), default="")
    client_id: Mapped[uuid.UUID | None] = mapped_column(
        ForeignKey("clients.id", ondelete="SET NULL"), index=True
    )
    tokens: Mapped[str] = mapped_column(String(8), default=OPAQUE, server_default=OPAQUE)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class Family(Base):
    """One login or client-credentials request, and all the tokens that come from it.

    ``facts``, ``auth_at`` and ``recognized`` are as in `BrowserSession`, for the login of a user.
    ``session_id``: the browser session in which an application got a code; its row may be gone. A
    refresh never changes it. ``identity_id`` and ``ends_at`` are those of that session.

    No column that a refresh changes is indexed, so that a refresh is a HOT update on PostgreSQL.
    The index of ``client_id`` is for the deletion of a client, which has to find its families.
    """

    __tablename__ = "families"
    __table_args__ = (
        CheckConstraint("(owner_kind = 'user') = (user_id IS NOT NULL)", name="owner"),
    )

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    client_id: Mapped[uuid.UUID | None] = mapped_column(
        ForeignKey("clients.id", ondelete="CASCADE"), index=True
    )
    owner_kind: Mapped[str] = mapped_column(String(8))  # "user" or "client"
    user_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    granted_scope: Mapped[str] = mapped_column(String(1024))
    scope: Mapped[str] = mapped_column(String(1024))
    rescoped: Mapped[bool]  # whether the last refresh changed the scope
    user_epoch: Mapped[int | None]
    client_epoch: Mapped[int | None]
    generation: Mapped[int]
    created_at: Mapped[datetime]
    rotated_at: Mapped[datetime]
    used_at: Mapped[datetime | None]  # to the hour; see `authsite.platform.db.last_used`
    refresh_expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    revoked_why: Mapped[str | None] = mapped_column(String(32))
    address: Mapped[str | None] = mapped_column(String(45))
    agent: Mapped[str | None] = mapped_column(String(200))
    facts: Mapped[str | None] = mapped_column(Text)
    auth_at: Mapped[datetime | None]
    recognized: Mapped[datetime | None]
    session_id: Mapped[uuid.UUID | None]
    identity_id: Mapped[uuid.UUID | None]
    ends_at: Mapped[datetime | None]


# Rows without a value are not in them: each index is one more page that a transaction writes.
partial_index("ix_families_of_user", Family.user_id, where=Family.user_id.is_not(None))
partial_index("ix_families_of_session", Family.session_id, where=Family.session_id.is_not(None))


class PersonalToken(Base):
    """A personal access token: a user creates it for a program, and it acts for that user.

    It ends at ``expires_at``, and when the epoch of the user or of the client is raised.
    ``session_id``: the session in which it was created, a token family or a browser session, whose
    row may be gone. ``client_id``: the client of that token family; NULL for a browser session.
    ``identity_id``: the identity with which that session began. ``expires_at`` is never later than
    the ``ends_at`` of that session.

    No column that a use changes is indexed, so that writing it is a HOT update on PostgreSQL.
    """

    __tablename__ = "personal_tokens"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    user_epoch: Mapped[int]
    client_id: Mapped[uuid.UUID | None] = mapped_column(
        ForeignKey("clients.id", ondelete="CASCADE"), index=True
    )
    client_epoch: Mapped[int | None]
    session_id: Mapped[uuid.UUID]
    identity_id: Mapped[uuid.UUID | None]
    name: Mapped[str] = mapped_column(String(100))
    scope: Mapped[str] = mapped_column(String(1024))
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]  # to the hour; see `authsite.platform.db.last_used`
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    revoked_why: Mapped[str | None] = mapped_column(String(32))
    address: Mapped[str | None] = mapped_column(String(45))
    agent: Mapped[str | None] = mapped_column(String(200))
