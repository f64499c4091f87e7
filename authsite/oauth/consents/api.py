"""The JSON views of connected applications."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from pyramid.response import Response
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.oauth.errors import RESOURCE
from authsite.platform.http.api_metadata import Operation, Parameters, response_body
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_client_id
from authsite.users.caller import caller_of
from authsite.users.errors import UserRequired

from . import service
from .service import UnknownConsent

_CLIENT = ["0e37df36-f698-4e8b-9be0-6d2b9a0c1f11"]
_MOMENT = Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])


class ConsentPath(Parameters):
    """Path of one connected application."""

    client_id: Annotated[str, Field(examples=_CLIENT)]
    """The id of its client in the list."""


# Described here, for strings under fields are not inherited.
@response_body("An application that the user has allowed something.")
class ConsentAnswer(TypedDict):
    client_id: Annotated[
        str,
        Field(
            description="The id for `DELETE /v1/user/consents/{client_id}`.",
            examples=_CLIENT,
        ),
    ]
    name: Annotated[str, Field(description="What the application is called.", examples=["Wiki"])]
    scope: Annotated[
        str,
        Field(
            description="The scopes that are allowed, separated by spaces.",
            examples=["openid email"],
        ),
    ]
    resources: NotRequired[
        Annotated[
            list[str],
            Field(
                description="The resources for which it may have tokens, by their URIs; absent if "
                "it has asked for none.",
                examples=[[RESOURCE]],
            ),
        ]
    ]
    verified: NotRequired[
        Annotated[
            Literal[False],
            Field(
                description="`false`: no administrator has registered the application, and anyone "
                "can have given it this name. Else absent.",
            ),
        ]
    ]
    document: NotRequired[
        Annotated[
            str,
            Field(
                description="The URL of the document that describes the application, which is the "
                "`client_id` that it sends; absent for all others.",
                examples=["https://app.example.com/client.json"],
            ),
        ]
    ]
    created_at: Annotated[
        str, _MOMENT, Field(description="When the user first allowed it something.")
    ]
    last_used_at: Annotated[
        Annotated[str, _MOMENT] | None,
        Field(description="When it last signed the user in; null before the first time."),
    ]


@view_config(route_name="authsite.user.consents", request_method="GET", renderer="json")
@Operation(
    "List the connected applications of the user",
    {200: list[ConsentAnswer]},
    description="The newest first.",
    errors=(UserRequired,),
)
def list_consents(request: Request) -> list[ConsentAnswer]:
    user = caller_of(request).acting_user()
    return [_as_json(item) for item in service.list_of(request.authsite.ctx, user.id)]


@view_config(route_name="authsite.user.consent", request_method="DELETE")
@Operation(
    "Remove the access of an application",
    {204: None},
    description=(
        "Its tokens of this user end at once. The next time that it signs the user in, it asks "
        "again."
    ),
    errors=(UnknownConsent, UserRequired, TooManyAttempts(60)),
    path=ConsentPath,
)
def withdraw(request: Request) -> Response:
    user = caller_of(request).acting_user()
    client_id = as_client_id(request.matchdict["client_id"])
    if client_id is None or not service.withdraw(request.authsite.ctx, user.id, client_id):
        raise UnknownConsent
    request.response.status_int = 204
    return request.response


def _as_json(item: service.ListedConsent) -> ConsentAnswer:
    answer: ConsentAnswer = {
        "client_id": str(item.client_id),
        "name": item.name,
        "scope": item.scope,
        "created_at": clock.rfc3339(item.created_at),
        "last_used_at": clock.rfc3339(item.used_at) if item.used_at else None,
    }
    if item.uris:
        answer["resources"] = item.uris
    if item.unverified:
        answer["verified"] = False
    if item.document_uri is not None:
        answer["document"] = item.document_uri
    return answer
