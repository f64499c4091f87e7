"""The pages of the password reset."""

from typing import Any

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.guards.forms import form_view, password_check, rating
from authsite.guards.known_address import keep_address
from authsite.guards.return_to import keep_next
from authsite.http.bodies import Body, Email
from authsite.http.rendering import page_path, see_other
from authsite.rate_limit import recognized
from authsite.request_state import Request

from . import service
from .api import ResetBody
from .errors import InvalidResetToken

FORGOT = "authsite:templates/recovery/forgot.jinja2"
RESET = "authsite:templates/recovery/reset.jinja2"


class ForgotForm(Body):
    """The address of the account."""

    email: Email


def forgot_form(request: Request) -> dict[str, Any]:
    """The form, or the note that a mail is sent."""
    return {"sent": request.GET.get("sent")}


@form_view(
    "authsite.forgot.page",
    ForgotForm,
    show=forgot_form,
    rate_limit="forgot-address",
    renderer=FORGOT,
    permission=NO_PERMISSION_REQUIRED,
)
def forgot(request: Request) -> Response:
    """Mail a reset link; the answer is the same for every address."""
    email = request.authsite.validated.email
    keep_address(request, email)
    service.request_reset(request.authsite.ctx, email)
    keep_next(request)
    return see_other(request, page_path(request, "forgot.page", sent="1"))


def reset_form(request: Request) -> dict[str, Any]:
    """The form with the values of the link, or the error of the link; opening it does not use it.

    The page's script removes the values from the address bar.
    """
    values = request.authsite.raw_form or request.GET
    email, token, inactive = values.get("email", ""), values.get("token", ""), False
    if email and token and not request.authsite.form_errors:
        try:
            service.check_token(request.authsite.ctx, email, token)
        except InvalidResetToken as error:
            request.authsite.record_denial(error)
            request.response.status_int = error.status
            inactive = True
    done = request.GET.get("done")
    return {"email": email, "token": token, "done": done, "inactive": inactive}


@form_view(
    "authsite.reset.page",
    ResetBody,
    show=reset_form,
    rate_limit="reset-token",
    renderer=RESET,
    permission=NO_PERMISSION_REQUIRED,
)
def reset(request: Request) -> Response:
    """Set the new password."""
    given: ResetBody = request.authsite.validated
    service.reset(
        request.authsite.ctx, given.email, given.token, given.password, given.password_confirmation
    )
    recognized.set_cookie(request)
    keep_address(request, given.email)
    return see_other(request, page_path(request, "reset.page", done="1"))


@password_check("authsite.reset.check", ResetBody, "reset-token", permission=NO_PERMISSION_REQUIRED)
def check(request: Request) -> dict[str, Any]:
    """Rate the new password while it is typed, by the names of the user of the link."""
    given: ResetBody = request.authsite.validated
    user = service.check_token(request.authsite.ctx, given.email, given.token)
    return rating(request, given.password, user)
