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
    """Its id."""
    name: Annotated[str, Field(examples=["deployment"])]
    """Its name."""


class UserSessionAnswer(TypedDict):
    """A sign-in."""

    id: _Id
    """Its id."""
    kind: Literal["browser", "app"]
    """In a browser, or of an application with tokens."""
    client: Annotated[str | None, Field(examples=["Web shop"])]
    """The name of the application."""
    address: Annotated[str | None, Field(examples=["192.0.2.7"])]
    """The client address of the last use."""
    agent: str | None
    """The header User-Agent of the last use."""
    created: _Moment
    """When the user signed in."""
    last_used: _Moment
    """When it was last used."""
    acr: Annotated[str, Field(examples=["aal2"])]
    """The level of the sign-in."""
    amr: Annotated[list[str], Field(examples=[["pwd", "otp"]])]
    """How the user signed in."""
    auth_time: int | None
    """When the user last proved to be who they are, in Unix seconds."""
    tokens: list[NamedTokenAnswer]
    """The personal access tokens that were created in it."""


@response_body("The sign-ins of a user.")
class SessionsAnswer(TypedDict):
    """All of them."""

    data: list[UserSessionAnswer]
    """By the last use; at most 100."""
    next: None
    """There is no next part."""


class UserTokenAnswer(TypedDict):
    """A personal access token, without the token itself."""

    id: _Id
    """Its id."""
    name: Annotated[str, Field(examples=["deployment"])]
    """Its name."""
    scope: Annotated[str, Field(examples=["reports:read"])]
    """What it is for."""
    created: _Moment
    """When it was created."""
    expires: _Moment
    """When it ends."""
    last_used: _Moment | None
    """When it was last used; null: never."""


@response_body("The active personal access tokens of a user.")
class TokensAnswer(TypedDict):
    """All of them."""

    data: list[UserTokenAnswer]
    """The newest first."""
    next: None
    """There is no next part."""


class FactorAnswer(TypedDict):
    """A second factor or passkey."""

    id: _Id
    """Its id."""
    kind: Literal["totp", "passkey"]
    """An authenticator app or a passkey."""
    name: str | None
    """The name of a passkey."""
    created_at: _Moment
    """When it was added."""
    last_used_at: _Moment | None
    """When it was last used; null: never."""


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
    """How often it was counted."""
    expires_at: _Moment
    """When it ends."""
    seconds: int
    """How long it still counts."""


@response_body("The limits that count for a user.")
class LimitsAnswer(TypedDict):
    """All of them."""

    data: list[LimitAnswer]
    """Those that count now."""
    next: None
    """There is no next part."""
