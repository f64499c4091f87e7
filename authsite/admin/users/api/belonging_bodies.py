"""The bodies of responses about what belongs to a user."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from authsite.platform.http.api_metadata import response_body

_Id = Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
_Moment = Annotated[
    str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])
]


class NamedTokenAnswer(TypedDict):
    """A personal access token of a sign-in."""

    id: _Id
    name: str


class SessionAnswer(TypedDict):
    """A sign-in."""

    id: _Id
    kind: Literal["browser", "app"]
    client: Annotated[str | None, Field(examples=["Web shop"])]
    """The name of the application."""
    address: Annotated[str | None, Field(examples=["192.0.2.7"])]
    agent: str | None
    created: _Moment
    last_used: _Moment
    acr: Annotated[str, Field(examples=["aal2"])]
    """The level of the sign-in."""
    amr: list[str]
    """How the user signed in."""
    auth_time: int | None
    """When the user last proved to be who they are, in Unix seconds."""
    tokens: list[NamedTokenAnswer]
    """The personal access tokens that were created in it."""


@response_body("The sign-ins of a user.")
class SessionsAnswer(TypedDict):
    """All of them."""

    data: list[SessionAnswer]
    """By the last use; at most 100."""
    next: None
    """There is no next part."""


class TokenAnswer(TypedDict):
    """A personal access token, without the token itself."""

    id: _Id
    name: str
    scope: str
    created: _Moment
    expires: _Moment
    last_used: _Moment | None


@response_body("The active personal access tokens of a user.")
class TokensAnswer(TypedDict):
    """All of them."""

    data: list[TokenAnswer]
    """The newest first."""
    next: None
    """There is no next part."""


class FactorAnswer(TypedDict):
    """A second factor or passkey."""

    id: _Id
    kind: Literal["totp", "passkey"]
    name: str | None
    """Of a passkey."""
    created_at: _Moment
    last_used_at: _Moment | None


@response_body("The second factors and passkeys of a user.")
class FactorsAnswer(TypedDict):
    """All of them."""

    data: list[FactorAnswer]
    """The oldest first."""
    next: None
    """There is no next part."""


class LimitAnswer(TypedDict):
    """A counter."""

    limit: Annotated[str, Field(examples=["login-account"])]
    """The name of the limit."""
    count: int
    expires_at: _Moment
    seconds: int
    """How long it still counts."""


@response_body("The limits that count for a user.")
class LimitsAnswer(TypedDict):
    """All of them."""

    data: list[LimitAnswer]
    next: None
    """There is no next part."""
