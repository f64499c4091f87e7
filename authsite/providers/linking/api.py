"""The JSON views of providers and identities."""

from typing import Annotated

from pydantic import Field
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.platform.http.api_metadata import Operation, Parameters, response_body
from authsite.platform.http.bodies import Body, CurrentPassword, MailCode
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_id
from authsite.platform.settings import Settings
from authsite.sign_in.errors import PROOF_ERRORS
from authsite.sign_in.methods.provider import start_url
from authsite.sign_in.reauthentication import ProofFields
from authsite.users import identities
from authsite.users.caller import caller_of
from authsite.users.errors import UserRequired
from authsite.users.identities import Identity

from . import service
from .service import LastSignInMethod, UnknownClient, UnknownIdentity

_MOMENT = Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])
_NAME = Field(examples=["google"])
_LABEL = Field(examples=["Google"])


class ClientPath(Parameters):
    """Path below one first-party client."""

    client: Annotated[str, Field(examples=["web"])]
    """The client's name in the settings."""

    @classmethod
    def choices(cls, cfg: Settings) -> dict[str, list[str]]:
        """The configured names; `web`, which `authsite init` makes, comes first."""
        return {"client": sorted(cfg.clients, key=lambda name: (name != "web", name))}


class IdentityPath(Parameters):
    """Path of one identity."""

    id: Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
    """Its id in the list."""


class UnlinkBody(Body):
    description = "The confirmation of the user who disconnects a provider."

    current_password: CurrentPassword = None
    """The user's password. A user without one confirms with a linked provider instead."""
    mail_code: MailCode = None
    """The code that was mailed for this change, where one is asked for."""


@response_body("A provider with which users can sign in.")
class ProviderAnswer(TypedDict):
    name: Annotated[str, _NAME]
    """Its name in the settings."""
    label: Annotated[str, _LABEL]
    """What the button says."""
    start_url: Annotated[
        str,
        Field(
            json_schema_extra={"format": "uri"},
            examples=["https://auth.example.com/login/with/google"],
        ),
    ]
    """The page with the button, which a browser opens; the parameter `next` says where a sign-in
    leads to."""


@response_body("An account at a provider with which the user can sign in.")
class IdentityAnswer(TypedDict):
    id: Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
    """The id for `DELETE /v1/user/identities/{id}`."""
    provider: Annotated[str, _NAME]
    """The name of the provider in the settings."""
    label: Annotated[str, _LABEL]
    """What its button says; the name, if the provider has left the settings."""
    email: Annotated[str | None, Field(examples=["ann@gmail.com"])]
    """The e-mail address that the provider told when the account there was connected."""
    created_at: Annotated[str, _MOMENT]
    """When it was connected."""
    last_used_at: Annotated[Annotated[str, _MOMENT] | None, Field()]
    """When the user last signed in or confirmed with it; null before the first time."""


Providers = Annotated[list[ProviderAnswer], Field(description="The providers, perhaps none.")]
Identities = Annotated[
    list[IdentityAnswer], Field(description="In the order in which they were connected.")
]


@view_config(
    route_name="authsite.providers",
    request_method="GET",
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "List the providers with which users can sign in",
    {200: Providers},
    description=(
        "In the order of the setting `providers`. An application opens `start_url` in the browser; "
        "it never posts a token of a provider to authsite."
    ),
    errors=(UnknownClient,),
    path=ClientPath,
)
def list_providers(request: Request) -> list[ProviderAnswer]:
    cfg = request.authsite.settings
    if request.matchdict["client"] not in cfg.clients:
        raise UnknownClient
    return [
        {"name": each.name, "label": each.label, "start_url": start_url(request, each)}
        for each in cfg.providers
    ]


@view_config(route_name="authsite.user.identities", request_method="GET", renderer="json")
@Operation(
    "List the providers that the user is connected with",
    {200: Identities},
    errors=(UserRequired,),
)
def list_identities(request: Request) -> list[IdentityAnswer]:
    ctx, user = request.authsite.ctx, caller_of(request).acting_user()
    return [_as_json(ctx.settings, each) for each in identities.list_of(ctx, user.id)]


@view_config(route_name="authsite.user.identity", request_method="DELETE", body=UnlinkBody)
@Operation(
    "Disconnect a provider",
    {204: None},
    description="The browser sessions that began with it end. The user is notified by mail.",
    errors=(*PROOF_ERRORS, UnknownIdentity, LastSignInMethod, UserRequired, TooManyAttempts(60)),
    path=IdentityPath,
)
def unlink(request: Request) -> Response:
    user = caller_of(request).signed_in_user()
    given: UnlinkBody = request.authsite.validated
    wanted = as_id(request.matchdict["id"])
    service.unlink(request.authsite.ctx, user, wanted, ProofFields.of(given))
    request.response.status_int = 204
    return request.response


def _as_json(cfg: Settings, identity: Identity) -> IdentityAnswer:
    used = identity.used_at
    return {
        "id": str(identity.id),
        "provider": identity.provider,
        "label": identities.label(cfg, identity),
        "email": identity.email,
        "created_at": clock.rfc3339(identity.created_at),
        "last_used_at": clock.rfc3339(used) if used else None,
    }
