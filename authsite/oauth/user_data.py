"""What the tables of this package have of a user, and the lines of an export."""

from typing import Any, Literal
from uuid import UUID

from sqlalchemy import select, union
from typing_extensions import TypedDict

from authsite.platform.context import Context
from authsite.platform.user_data import Id, Line, Moment, UserData, exported_line

from . import models
from .clients import authentication
from .codes.models import AuthorizationCode
from .consents import service as consents

_TOKENS = (
    "id client_id granted_scope scope created_at rotated_at used_at refresh_expires_at revoked_at"
    " revoked_why address agent facts auth_at recognized session_id identity_id ends_at"
)


@exported_line
class SecretHash(TypedDict):
    scheme: Literal["sha256", "bcrypt"]
    """`sha256`: the hexadecimal SHA-256 of the secret."""
    hash: str
    """The hash as it is stored."""


@exported_line
class Client(TypedDict):
    type: Literal["client"]
    id: Id
    name: str
    client_type: Literal[
        "password",
        "personal",
        "resource-server",
        "server",
        "browser",
        "native",
        "document",
        "dynamic",
    ]
    grant_types: str | None
    """What the client may use, separated by spaces; null: the grant types of `client_type`."""
    secrets: list[SecretHash]
    """The valid secrets, the newest first; none for the types `browser` and `native`."""
    scope: str
    """What the client may ask for, separated by spaces."""
    default_scope: str
    first_party: bool
    consent: Literal["ask", "none"]
    pkce: Literal["required", "optional"]
    id_token_signed_response_alg: Literal["RS256", "ES256"] | None
    """Null: RS256."""
    id_token_lifetime: int | None
    """In seconds; null: the setting."""
    id_token_claims: Literal["userinfo", "both"]
    require_confirmed: bool
    require_group: str | None
    default_resource: str | None
    logo: str | None
    policy_uri: str | None
    tos_uri: str | None
    client_uri: str | None
    document_uri: str | None
    """Of the type `document`: the URL that is its `client_id`."""
    disabled_at: Moment | None
    created_at: Moment
    updated_at: Moment


@exported_line
class ClientUri(TypedDict):
    """A URI that is registered for a client."""

    type: Literal["client_uri"]
    client_id: Id
    kind: Literal["redirect", "post_logout", "origin"]
    uri: str
    position: int
    """Their order, from 0."""


@exported_line
class Resource(TypedDict):
    """An API that tokens can be for (RFC 8707)."""

    type: Literal["resource"]
    id: Id
    uri: str
    scopes: str
    """What a token for it can have, separated by spaces."""
    client_id: Id | None
    """The resource server that may introspect such a token."""
    tokens: Literal["opaque", "jwt"]
    """The form of its access tokens."""
    created_at: Moment
    updated_at: Moment


@exported_line
class Consent(TypedDict):
    """A user has allowed an application to sign them in."""

    type: Literal["consent"]
    user_id: Id
    client_id: Id
    scope: str
    """What the user has allowed, separated by spaces."""
    resources: str | None
    """The resources for which the user has allowed tokens, separated by spaces."""
    created_at: Moment
    updated_at: Moment
    """When the user has allowed more."""
    used_at: Moment | None
    """The last sign-in at the application."""


@exported_line
class Family(TypedDict):
    """A session of an application; nothing that opens it."""

    type: Literal["family"]
    id: Id
    owner_kind: Literal["user", "client"]
    user_id: Id | None
    client_id: Id | None
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
    session_id: Id | None
    """The browser session in which an application got its code."""


@exported_line
class PersonalToken(TypedDict):
    """A personal access token; nothing that opens it."""

    type: Literal["personal_token"]
    id: Id
    user_id: Id
    session_id: Id
    """The session in which it was created: that of an application (a family) or of a browser."""
    client_id: Id | None
    """The client of that session; null for a browser."""
    name: str
    scope: str
    created_at: Moment
    used_at: Moment | None
    """To the hour."""
    expires_at: Moment
    revoked_at: Moment | None
    """Also null if all sign-ins of the user or client were ended together."""
    revoked_why: str | None
    address: str | None
    """Of the user at the creation."""
    agent: str | None


def _complete_client(line: dict[str, Any]) -> None:
    line["consent"] = "none" if line["consent"] else "ask"
    line["pkce"] = "optional" if line["pkce"] else "required"
    line["id_token_claims"] = "both" if line["id_token_claims"] else "userinfo"
    secrets = filter(None, (line["secrets"], line.pop("previous_secret_hash")))
    line["secrets"] = [
        {"scheme": authentication.scheme_of(secret), "hash": secret} for secret in secrets
    ]


def list_applications(ctx: Context, user_id: UUID) -> list[dict[str, Any]]:
    """What the ids of clients in the person's export stand for. No client belongs to a user."""
    known = (consents.Consent, models.Family, models.PersonalToken)
    used = union(*(select(each.client_id).where(each.user_id == user_id) for each in known))
    client = models.Client
    found = ctx.db.execute(
        select(client.id, client.name, client.document_uri, client.client_uri)
        .where(client.id.in_(used))
        .order_by(client.created_at, client.id)
    )
    return [{**row, "id": str(row["id"])} for row in found.mappings()]


USER_DATA = (
    UserData(
        "applications",
        models.Client,
        rows=list_applications,
        # The clients stay; what they have of the user goes with the tables below.
        retained=True,
    ),
    UserData(
        "clients",
        models.Client,
        line=Line(
            "clients",
            Client,
            {
                "client_type": "type",
                "secrets": "secret_hash",
                "previous_secret_hash": "",
                "consent": "no_consent",
                "pkce": "pkce_optional",
                "id_token_signed_response_alg": "id_token_alg",
                "id_token_claims": "claims_in_id_token",
            },
            _complete_client,
        ),
    ),
    UserData("client_uris", models.ClientUri, line=Line("client_uris", ClientUri)),
    UserData("resources", models.Resource, line=Line("resources", Resource)),
    UserData(
        "consents",
        consents.Consent,
        "client_id scope resources created_at updated_at used_at",
        line=Line("consents", Consent),
    ),
    UserData("authorization_codes", AuthorizationCode),
    UserData(
        "sign_ins_of_apps",
        models.Family,
        _TOKENS,
        line=Line("families", Family),
    ),
    UserData(
        "personal_access_tokens",
        models.PersonalToken,
        "id client_id session_id identity_id name scope created_at used_at expires_at revoked_at"
        " revoked_why address agent",
        line=Line("personal_tokens", PersonalToken),
    ),
)
