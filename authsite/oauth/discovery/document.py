"""The body of the metadata document."""

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from authsite.oauth.grants.table import GRANTS
from authsite.oauth.oidc.keys.pairs import ALGORITHMS
from authsite.platform.http.api_metadata import response_body

_ISSUER = "https://auth.example.com"
_Methods = Annotated[list[str], Field(examples=[["client_secret_basic", "client_secret_post"]])]


@response_body(
    "The endpoints and methods of this service (RFC 8414, section 2; OpenID Connect Discovery 1.0, "
    "section 3). The members after `scopes_supported` are there with OpenID Connect."
)
class MetadataAnswer(TypedDict):
    issuer: Annotated[str, Field(examples=[_ISSUER])]
    """The base URL of this service; with OpenID Connect always the first one."""
    token_endpoint: Annotated[str, Field(examples=[f"{_ISSUER}/v1/oauth/token"])]
    """The URL of the token endpoint."""
    token_endpoint_auth_methods_supported: _Methods
    """How a client authenticates at the token endpoint; `none`: public clients."""
    introspection_endpoint: Annotated[str, Field(examples=[f"{_ISSUER}/v1/oauth/introspect"])]
    """The URL for token introspection (RFC 7662)."""
    introspection_endpoint_auth_methods_supported: _Methods
    """How a client authenticates there."""
    revocation_endpoint: Annotated[str, Field(examples=[f"{_ISSUER}/v1/oauth/revoke"])]
    """The URL for token revocation (RFC 7009)."""
    revocation_endpoint_auth_methods_supported: _Methods
    """How a client authenticates there."""
    grant_types_supported: Annotated[list[str], Field(examples=[list(GRANTS)])]
    """The grant types of the token endpoint."""
    response_types_supported: Annotated[list[str], Field(examples=[["code"]])]
    """`code`, or `none` if there is no authorization endpoint."""
    scopes_supported: NotRequired[list[str]]
    """The scopes in setting `scopes`, and those of OpenID Connect; missing if there are none."""
    authorization_endpoint: NotRequired[
        Annotated[str, Field(examples=[f"{_ISSUER}/oauth/authorize"])]
    ]
    """The URL of the authorization endpoint."""
    userinfo_endpoint: NotRequired[Annotated[str, Field(examples=[f"{_ISSUER}/v1/oauth/userinfo"])]]
    """The URL of the userinfo endpoint."""
    end_session_endpoint: NotRequired[Annotated[str, Field(examples=[f"{_ISSUER}/oauth/logout"])]]
    """The URL to which a client sends a browser for a logout."""
    registration_endpoint: NotRequired[
        Annotated[str, Field(examples=[f"{_ISSUER}/v1/oauth/register"])]
    ]
    """The URL at which clients register themselves (RFC 7591), if they may."""
    client_id_metadata_document_supported: NotRequired[bool]
    """`true` if the `client_id` may be the URL of a document that describes the client."""
    device_authorization_endpoint: NotRequired[
        Annotated[str, Field(examples=[f"{_ISSUER}/v1/oauth/device"])]
    ]
    """The URL at which a device without a browser begins a sign-in (RFC 8628)."""
    jwks_uri: NotRequired[Annotated[str, Field(examples=[f"{_ISSUER}/.well-known/jwks.json"])]]
    """The URL of the public keys."""
    response_modes_supported: NotRequired[Annotated[list[str], Field(examples=[["query"]])]]
    """How an authorization response reaches the client."""
    code_challenge_methods_supported: NotRequired[Annotated[list[str], Field(examples=[["S256"]])]]
    """The methods of PKCE (RFC 7636)."""
    authorization_response_iss_parameter_supported: NotRequired[bool]
    """`true`: every authorization response has `iss` (RFC 9207)."""
    subject_types_supported: NotRequired[Annotated[list[str], Field(examples=[["public"]])]]
    """`public`: every client is told the same `sub`, the id of the user."""
    id_token_signing_alg_values_supported: NotRequired[
        Annotated[list[str], Field(examples=[list(ALGORITHMS)])]
    ]
    """The algorithms of ID tokens; `RS256` unless the client was given another one."""
    prompt_values_supported: NotRequired[Annotated[list[str], Field(examples=[["none", "login"]])]]
    """The values of the parameter `prompt`."""
    display_values_supported: NotRequired[Annotated[list[str], Field(examples=[["page"]])]]
    """The values of the parameter `display`."""
    claim_types_supported: NotRequired[Annotated[list[str], Field(examples=[["normal"]])]]
    """`normal`: claims are plain values."""
    claims_supported: NotRequired[Annotated[list[str], Field(examples=[["sub", "email"]])]]
    """The claims that ID tokens and the userinfo endpoint may have."""
    ui_locales_supported: NotRequired[Annotated[list[str], Field(examples=[["en", "de"]])]]
    """The languages of the pages."""
    claims_parameter_supported: NotRequired[Annotated[bool, Field(examples=[False])]]
    """`false`: the parameter `claims` is ignored."""
    request_parameter_supported: NotRequired[Annotated[bool, Field(examples=[False])]]
    """`false`: request objects are refused."""
    request_uri_parameter_supported: NotRequired[Annotated[bool, Field(examples=[False])]]
    """`false`: request objects are refused. A missing member would mean `true`."""
