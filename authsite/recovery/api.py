"""The JSON views of password recovery."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.http.api_metadata import Message, Operation, ResponseHeader
from authsite.platform.http.bodies import Body, Email, NewPassword, Password, Token, Url
from authsite.platform.http.errors import FieldError
from authsite.platform.http.return_to import page_not_allowed, page_required
from authsite.platform.passwords import policy
from authsite.platform.rate_limit import device_cookie
from authsite.platform.request_state import Request

from . import service
from .service import InvalidResetToken

_SENT: Message = {
    "message": "If the address is known here, a message with a link is on its way to it."
}


class ForgotBody(Body):
    description = "The address of the account, and the page that the mailed link opens."

    email: Email
    """The address of the account."""
    reset_url: Annotated[Url | None, Field(examples=["https://app.example.com/reset"])] = None
    """The page that the link opens: one of those configured."""
    reseturl: Url | None = None
    """Another spelling of `reset_url`."""


class ResetBody(Body):
    description = "The parts of the mailed link, and the new password."

    email: Email
    """The address in the link."""
    token: Annotated[Token, Field(examples=["q83vEjRWeJCrze8SNFZ4kKvN"])]
    """The token in the link."""
    password: NewPassword
    """The new password."""
    password_confirmation: Password | None = None
    """The new password again. If it is sent, it must be equal to `password`."""


def judge_request(request: Request, given: Any) -> Sequence[FieldError]:
    """What is wrong with the page of a refused request: see `bodies.Judge`."""
    url = given.reset_url or given.reseturl
    if url is None:
        return page_required("reset_url").details
    return service.request_errors(request.authsite.ctx, url)


def judge_reset(_request: Request, given: Any) -> Sequence[FieldError]:
    """What is wrong with the passwords of a refused request: see `bodies.Judge`."""
    return service.reset_errors(given.password, given.password_confirmation)


@view_config(
    route_name="authsite.recovery.forgot",
    request_method="POST",
    body=ForgotBody,
    judge=judge_request,
    rate_limit="forgot-address",
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Mail a reset link",
    {202: Message},
    description="The response and its time are the same for every address.",
    errors=(page_not_allowed("reset_url"),),
)
def forgot(request: Request) -> Message:
    given: ForgotBody = request.authsite.validated
    url = given.reset_url or given.reseturl
    if url is None:
        raise page_required("reset_url")
    service.request_reset(request.authsite.ctx, given.email, url)
    request.response.status_int = 202
    return _SENT


@view_config(
    route_name="authsite.recovery.reset",
    request_method="POST",
    body=ResetBody,
    judge=judge_reset,
    rate_limit="reset-token",
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Set a new password with the token of a mailed link",
    {200: Message},
    headers={
        200: {
            "Set-Cookie": ResponseHeader(
                "The cookie of a recognized browser.", "device=AAAA; Path=/; HttpOnly", always=False
            )
        }
    },
    description=(
        "The token works once. All tokens and sessions of the user are revoked, and the user is "
        "not signed in."
    ),
    errors=(policy.WEAK, InvalidResetToken),
)
def reset(request: Request) -> Message:
    given: ResetBody = request.authsite.validated
    service.reset(
        request.authsite.ctx, given.email, given.token, given.password, given.password_confirmation
    )
    device_cookie.set_cookie(request)
    return {"message": "The password is changed. Log in with it."}
