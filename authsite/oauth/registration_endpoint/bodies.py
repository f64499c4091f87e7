"""What a client sends about itself, and what is registered of it (RFC 7591, section 2)."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from authsite.oauth.models import MAX_URI
from authsite.platform.http.api_metadata import response_body
from authsite.platform.http.bodies import Body

from .errors import InvalidClientMetadata, InvalidRedirectUri

_CALLBACK = "https://app.example.org/callback"
Uri = Annotated[str, Field(max_length=MAX_URI, examples=["https://app.example.org/"])]
Words = Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=100)]


class ClientMetadata(Body):
    """Other members are ignored (section 2)."""

    description = "What the client is. Other members are ignored (RFC 7591, section 2)."
    json_only: ClassVar[bool] = True
    oauth_codes: ClassVar[Mapping[str, str]] = {
        "": InvalidClientMetadata.code,
        "redirect_uris": InvalidRedirectUri.code,
    }

    redirect_uris: Annotated[list[str], Field(examples=[[_CALLBACK]])]
    """Where the user may be led back to, with a code."""
    client_name: Annotated[str | None, Field(max_length=1000, examples=["Notes"])] = None
    """What users see, in one line of at most 100 characters. By default the host of the first
    redirect URI."""
    client_uri: Uri | None = None
    """The home page of the client; https."""
    policy_uri: Uri | None = None
    """The privacy policy; https."""
    tos_uri: Uri | None = None
    """The terms of service; https."""
    scope: Annotated[str | None, Field(max_length=4096, examples=["notes:read"])] = None
    """Scopes, separated by spaces. By default all that such a client may have."""
    grant_types: Annotated[Words | None, Field(examples=[["authorization_code"]])] = None
    """What the client wants to use; `authorization_code` must be among it."""
    response_types: Annotated[Words | None, Field(examples=[["code"]])] = None
    """`code` must be among them."""
    token_endpoint_auth_method: Annotated[
        str | None, Field(max_length=100, examples=["client_secret_basic"])
    ] = None
    """`none` for a program whose secret everyone could read, else `client_secret_basic` (the
    default) or `client_secret_post`."""
    application_type: Annotated[str | None, Field(max_length=100, examples=["native"])] = None
    """`web` or `native`, which decides what its redirect URIs may be. By default it follows from
    these."""


@response_body("The client that is registered, with everything that counts of it.")
class RegisteredClientAnswer(TypedDict):
    client_id: Annotated[str, Field(examples=["0e37df36-f698-4e8b-9be0-6d2b9a0c1f11"])]
    """The id of the client."""
    client_id_issued_at: Annotated[int, Field(examples=[1767225600])]
    """When it was registered, in seconds since 1970."""
    client_secret: NotRequired[
        Annotated[str, Field(examples=["mD4kYt7RzBqUx2HsWc9NvJfLg5PaEo3Kb6TiXy8SrQw"])]
    ]
    """The secret, which is shown this once; absent for a client that authenticates by `none`."""
    client_secret_expires_at: NotRequired[Literal[0]]
    """With `client_secret`: 0, since the secret does not expire."""
    client_name: Annotated[str, Field(examples=["Notes"])]
    """What users see."""
    redirect_uris: Annotated[list[str], Field(examples=[[_CALLBACK]])]
    """Where the user may be led back to."""
    scope: NotRequired[Annotated[str, Field(examples=["notes:read"])]]
    """The scopes that the client may ask for, besides those of OpenID Connect; absent if there are
    none. Those that it may not have are left out."""
    grant_types: Annotated[list[str], Field(examples=[["authorization_code", "refresh_token"]])]
    """What the client may use."""
    response_types: Annotated[list[str], Field(examples=[["code"]])]
    """What an authorization request can ask for."""
    token_endpoint_auth_method: Literal["none", "client_secret_basic", "client_secret_post"]
    """How the client authenticates."""
    application_type: Literal["web", "native"]
    """What decided about the redirect URIs."""
    client_uri: NotRequired[Uri]
    """The home page of the client."""
    policy_uri: NotRequired[Uri]
    """The privacy policy."""
    tos_uri: NotRequired[Uri]
    """The terms of service."""
