"""GET /v1/admin/me"""

from typing import Annotated

from pydantic import Field
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.admin.guard import ANY, administrator_of
from authsite.platform.http.api_metadata import Operation, response_body
from authsite.platform.request_state import Request
from authsite.users.account import UserAnswer, as_json
from authsite.users.caller import caller_of


@response_body("The caller as an administrator.")
class AdministratorAnswer(TypedDict):
    """Who calls."""

    user: UserAnswer | None
    """The user that the token acts for; null for a client."""
    client: Annotated[str | None, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
    """The id of the client that the token was issued to."""
    scopes: Annotated[list[str], Field(examples=[["admin:users:read"]])]
    """What the caller may do. A `write` includes the `read` of the same object."""


@view_config(
    route_name="authsite.admin.api.me",
    request_method="GET",
    renderer="json",
    admin=ANY,
)
@Operation("Show who calls, and what this administrator may do", {200: AdministratorAnswer})
def show(request: Request) -> AdministratorAnswer:
    caller = caller_of(request)
    return {
        "user": as_json(caller.account, caller.login_names) if caller.account else None,
        "client": caller.client_id,
        "scopes": sorted(administrator_of(request).scopes),
    }
