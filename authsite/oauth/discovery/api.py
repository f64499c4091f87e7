"""The view of the metadata document."""

import json
from collections.abc import Callable
from itertools import chain
from typing import Annotated, NotRequired
from urllib.parse import unquote, urlsplit

from pydantic import Field
from pyramid.interfaces import IRoutesMapper
from pyramid.response import Response
from typing_extensions import TypedDict

from authsite.oauth.clients.authentication import METHODS
from authsite.oauth.grants.table import GRANTS, available
from authsite.oauth.oidc.availability import is_on
from authsite.oauth.oidc.id_tokens import CLAIMS_OF_SCOPE, ID_TOKEN_CLAIMS, issuer_of
from authsite.oauth.oidc.keys.stored import ALGORITHMS
from authsite.platform.http.address import base_path
from authsite.platform.http.api_metadata import Operation, Parameters, response_body
from authsite.platform.http.cached_response import (
    FIVE_MINUTES,
    PUBLIC,
    CachedResponse,
    respond_from_cache,
)
from authsite.platform.request_state import Request
from authsite.platform.settings import Settings

# The body of the metadata document.


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


# The members of the metadata with OpenID Connect (OpenID Connect Discovery 1.0, section 3).


SCOPES = ("openid", "profile", "email", "phone", "groups", "offline_access")
PROMPTS = ("none", "login", "consent", "select_account")
CREATE = "create"  # Initiating User Registration via OpenID Connect 1.0
CLAIMS = (*ID_TOKEN_CLAIMS, *chain(*CLAIMS_OF_SCOPE.values()))


def openid_members(
    answer: MetadataAnswer, settings: Settings, endpoint: Callable[[str], str | None]
) -> None:
    """Add the members to ``answer``; ``endpoint``: the URL of a route, None if there is none."""
    if url := endpoint("authsite.authorize"):
        answer["authorization_endpoint"] = url
    if url := endpoint("authsite.oauth.userinfo"):
        answer["userinfo_endpoint"] = url
    if url := endpoint("authsite.oauth.end_session"):
        answer["end_session_endpoint"] = url
    if url := endpoint("authsite.oauth.register"):
        answer["registration_endpoint"] = url
    if settings.client_id_documents:
        answer["client_id_metadata_document_supported"] = True
    if url := endpoint("authsite.oauth.device"):
        answer["device_authorization_endpoint"] = url
    answer["jwks_uri"] = endpoint("authsite.jwks") or ""
    answer["scopes_supported"] = list(dict.fromkeys((*SCOPES, *settings.scopes)))
    answer["response_modes_supported"] = ["query"]
    answer["code_challenge_methods_supported"] = ["S256"]
    answer["authorization_response_iss_parameter_supported"] = True
    answer["subject_types_supported"] = ["public"]
    answer["id_token_signing_alg_values_supported"] = list(ALGORITHMS)
    prompts = [*PROMPTS, CREATE] if settings.registration_open else list(PROMPTS)
    answer["prompt_values_supported"] = prompts
    answer["display_values_supported"] = ["page"]
    answer["claim_types_supported"] = ["normal"]
    answer["claims_supported"] = list(CLAIMS)
    answer["ui_locales_supported"] = list(settings.languages)
    answer["claims_parameter_supported"] = False
    answer["request_parameter_supported"] = False
    answer["request_uri_parameter_supported"] = False


class MetadataPath(Parameters):
    """Path of the metadata of an issuer whose URL has a path."""

    issuer_path: Annotated[str, Field(examples=["auth"])]
    """The path of the issuer, without the slash in front."""


# Registered in `includeme`, because not all of its routes always exist.
@Operation(
    "Describe this authorization server",
    {200: MetadataAnswer, 304: None},
    headers={200: PUBLIC, 304: PUBLIC},
    description=(
        "The metadata of RFC 8414, and of OpenID Connect Discovery 1.0 if that is on. If the URL "
        "of this service has a path, the document is also at the path that section 3.1 of RFC 8414 "
        "defines, with the path of the issuer at its end."
    ),
)
def metadata(request: Request) -> Response:
    """Respond with the metadata of the issuer, which clients may cache."""
    text = json.dumps(_metadata(request))
    return respond_from_cache(
        request, CachedResponse(text.encode(), "application/json"), FIVE_MINUTES
    )


def _issuer(request: Request) -> str:
    """The base URL of this request; in the form of section 3.1, the one with the path named."""
    urls = request.authsite.base_urls
    named = request.matchdict.get("issuer_path")
    paths = (unquote(urlsplit(url).path).removeprefix("/") for url in urls)
    matching = (url for url, path in zip(urls, paths, strict=True) if path == named)
    return next(matching, urls[0])


def _metadata(request: Request) -> MetadataAnswer:
    services = request.registry["authsite"]
    on = is_on(services)
    # One issuer: a client compares it with the one in ID tokens.
    issuer = issuer_of(services) if on else _issuer(request)

    def endpoint(route: str) -> str | None:
        """The URL of a route; None if there is no such route."""
        if request.registry.getUtility(IRoutesMapper).get_route(route) is None:
            return None
        return f"{issuer}{base_path(request, route)}"

    authenticated = list(METHODS)
    # Public clients; some clients of MCP require it to be listed.
    public = [*METHODS, "none"] if on else authenticated
    answer: MetadataAnswer = {
        "issuer": issuer,
        "token_endpoint": endpoint("authsite.oauth.token") or "",
        "token_endpoint_auth_methods_supported": public,
        "introspection_endpoint": endpoint("authsite.oauth.introspect") or "",
        "introspection_endpoint_auth_methods_supported": authenticated,
        "revocation_endpoint": endpoint("authsite.oauth.revoke") or "",
        "revocation_endpoint_auth_methods_supported": public,
        "grant_types_supported": available(services),
        "response_types_supported": ["code"] if on else ["none"],
    }
    if request.authsite.settings.scopes:  # section 3.2: no empty lists
        answer["scopes_supported"] = list(request.authsite.settings.scopes)
    if on:
        openid_members(answer, request.authsite.settings, endpoint)
    return answer
