"""What the tables of this package have of a user, and the lines of an export."""

from typing import Any, Literal

from typing_extensions import TypedDict

from authsite.platform.user_data import Id, Line, Moment, UserData, exported_line

from . import client_auth, models
from .models import FORMER_PERSONAL_TOKEN, OAUTH

_TOKENS = (
    "id client_id granted_scope scope created_at rotated_at used_at refresh_expires_at revoked_at"
    " revoked_why address agent facts auth_at recognized"
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


@exported_line
class Family(TypedDict):
    """A session of an application; nothing that opens it.

    Or, of the kind `pat`, a personal access token that an earlier version has made.
    """

    type: Literal["family"]
    id: Id
    kind: Literal["oauth", "pat"]
    owner_kind: Literal["user", "client"]
    user_id: Id | None
    client_id: Id | None
    """Null for the kind `pat`."""
    name: str | None
    """Of the kind `pat`."""
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


def _with_secrets(line: dict[str, Any]) -> None:
    secrets = filter(None, (line["secrets"], line.pop("previous_secret_hash")))
    line["secrets"] = [
        {"scheme": client_auth.scheme_of(secret), "hash": secret} for secret in secrets
    ]


USER_DATA = (
    UserData(
        "clients",
        models.Client,
        line=Line(
            "clients",
            Client,
            {"client_type": "type", "secrets": "secret_hash", "previous_secret_hash": ""},
            _with_secrets,
        ),
    ),
    UserData(
        "sign_ins_of_apps",
        models.Family,
        _TOKENS,
        where=models.Family.kind == OAUTH,
        line=Line("families", Family),
    ),
    UserData(
        "personal_access_tokens",
        models.PersonalToken,
        "id client_id session_id name scope created_at used_at expires_at revoked_at revoked_why"
        " address agent",
        line=Line("personal_tokens", PersonalToken),
    ),
    UserData(
        "former_personal_access_tokens",
        models.Family,
        f"name {_TOKENS}",
        where=models.Family.kind == FORMER_PERSONAL_TOKEN,
    ),
)
