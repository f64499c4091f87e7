"""The lines of an export, as types: the JSON Schema and the columns that are read follow from them.

No line has what tokens, sessions or links are made of.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

FORMAT = 1

_strict = with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))
Id: TypeAlias = Annotated[
    str, Field(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", title="UUID")
]
Moment: TypeAlias = Annotated[
    str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$", title="RFC 3339, UTC")
]
Scheme: TypeAlias = Literal[
    "authsite-v1", "bcrypt", "bcrypt_sha256", "pbkdf2_sha256", "argon2", "unknown"
]


@_strict
class PasswordHash(TypedDict):
    scheme: Scheme
    """How the hash is computed; docs/moving.md describes each."""
    hash: str
    """The hash as it is stored, with its parameters."""


@_strict
class SecretHash(TypedDict):
    scheme: Literal["sha256", "bcrypt"]
    """`sha256`: the hexadecimal SHA-256 of the secret."""
    hash: str
    """The hash as it is stored."""


@_strict
class Head(TypedDict):
    """The first line."""

    type: Literal["export"]
    format: Literal[1]
    """Raised when a field is removed or changes its meaning; new fields may be added."""
    version: str
    """The version of authsite."""
    exported_at: Moment
    """All lines are as of one moment, shortly after this."""


@_strict
class User(TypedDict):
    type: Literal["user"]
    id: Id
    email: str
    username: str | None
    phone: str | None
    name: str | None
    password: PasswordHash | None
    """Null for a user without a password."""
    email_verified_at: Moment | None
    """Null: the address is not confirmed."""
    disabled_at: Moment | None
    terms_url: str | None
    """The terms that the user has accepted."""
    terms_accepted_at: Moment | None
    language: str | None
    """Of mails to the user; null: that of the request which causes a mail."""
    origin: str | None
    """How the account came into being; null: before there was this field."""
    created_at: Moment
    updated_at: Moment


@_strict
class Group(TypedDict):
    """A group of users; the reserved ones have no line."""

    type: Literal["group"]
    name: str
    title: str
    require_acr: str | None
    scopes: str
    """The scopes that it binds, separated by spaces."""
    created_at: Moment
    updated_at: Moment


@_strict
class Membership(TypedDict):
    """A user is in a group. `authsite import` reads neither groups nor memberships."""

    type: Literal["membership"]
    user_id: Id
    group_name: str
    """Also of a reserved group."""
    created_at: Moment


@_strict
class Client(TypedDict):
    type: Literal["client"]
    id: Id
    name: str
    client_type: Literal["password", "personal", "resource-server"]
    grant_types: str | None
    """What the client may use, separated by spaces; null: the grant types of `client_type`."""
    secrets: list[SecretHash]
    """The valid secrets, the newest first."""
    scope: str
    """What the client may ask for, separated by spaces."""
    default_scope: str
    disabled_at: Moment | None
    created_at: Moment
    updated_at: Moment


@_strict
class Family(TypedDict):
    """A sign-in of an application, or a personal access token; nothing that opens it."""

    type: Literal["family"]
    id: Id
    kind: Literal["oauth", "pat"]
    owner_kind: Literal["user", "client"]
    user_id: Id | None
    client_id: Id | None
    """Null for a personal access token."""
    name: str | None
    """Of a personal access token."""
    granted_scope: str
    scope: str
    created_at: Moment
    rotated_at: Moment
    """When the tokens were refreshed last."""
    used_at: Moment | None
    """To the hour."""
    refresh_expires_at: Moment
    revoked_at: Moment | None
    """Also null if all sign-ins of the user or client were ended together."""
    revoked_why: str | None
    address: str | None
    """Of the caller at the login."""
    agent: str | None


@_strict
class AuditEvent(TypedDict):
    type: Literal["audit_event"]
    id: int
    at: Moment
    event: str
    """docs/audit.md lists the events."""
    user_id: Id | None
    client_id: Id | None
    address: str | None
    agent: str | None
    request_id: str | None
    details: dict[str, str | dict[str, str | None]] | None


@_strict
class End(TypedDict):
    """The last line. A file without it is incomplete."""

    type: Literal["end"]
    users: int
    clients: int
    groups: int
    memberships: int
    families: int
    audit_events: int


Line: TypeAlias = Annotated[
    Head | User | Group | Membership | Client | Family | AuditEvent | End,
    Field(discriminator="type"),
]


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a line."""
    described = TypeAdapter[Any](Line).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of an export of authsite",
        **described,
    }
