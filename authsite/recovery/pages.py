"""The pages of the password reset."""

from typing import Any

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.platform.http.bodies import Body, Email
from authsite.platform.http.forms import form_view, link_view, password_check, rating
from authsite.platform.http.rendering import page_path, see_other
from authsite.platform.http.return_to import keep_next
from authsite.platform.rate_limit import device_cookie
from authsite.platform.request_state import Request
from authsite.sign_in import notices
from authsite.sign_in.factors import remaining
from authsite.sign_in.known_address import keep_address

from . import service
from .api import ResetBody, judge_reset
from .service import InvalidResetToken

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
    shown = {
        "email": values.get("email", ""),
        "token": values.get("token", ""),
        "done": request.GET.get("done"),
        "inactive": False,
    }
    if shown["done"]:
        shown |= _remaining(request)
    opened = shown["email"] and shown["token"] and not request.authsite.form_errors
    return _checked(request, shown) if opened else shown


def _remaining(request: Request) -> dict[str, Any]:
    """The factors that stay, for who has just set the new password."""
    ctx, token = request.authsite.ctx, request.GET.get("remaining", "")
    user_id = remaining.read_token(ctx, ctx.db, token)
    return (
        {"remaining": remaining.list_of(ctx.db, user_id), "remaining_token": token}
        if user_id
        else {}
    )


def _checked(request: Request, shown: dict[str, Any]) -> dict[str, Any]:
    """The values of the page for this address and token: with the form if the token is valid."""
    try:
        service.check_token(request.authsite.ctx, shown["email"], shown["token"])
    except InvalidResetToken as error:
        return _inactive(request, error, shown)
    return {"done": None, "inactive": False, **shown}


def _inactive(request: Request, error: InvalidResetToken, shown: dict[str, Any]) -> dict[str, Any]:
    request.authsite.record_denial(error)
    request.response.status_int = error.status
    return {"done": None, **shown, "inactive": True}


@link_view("authsite.reset.link", RESET)
def show_link(request: Request) -> dict[str, Any]:
    """The page of a short link; its form has the address and the token of the link."""
    try:
        link = service.read_link(request.authsite.ctx, request.matchdict["token"])
    except InvalidResetToken as error:
        return _inactive(request, error, {"email": "", "token": ""})
    return _checked(request, {"email": link.email, "token": link.token})


@form_view(
    "authsite.reset.page",
    ResetBody,
    show=reset_form,
    judge=judge_reset,
    rate_limit="reset-token",
    renderer=RESET,
    permission=NO_PERMISSION_REQUIRED,
)
def reset(request: Request) -> Response:
    """Set the new password."""
    given: ResetBody = request.authsite.validated
    user_id = service.reset(
        request.authsite.ctx, given.email, given.token, given.password, given.password_confirmation
    )
    device_cookie.set_cookie(request)
    notices.announce(request, user_id)
    keep_address(request, given.email)
    token = remaining.token_for(request.authsite.ctx, user_id)
    more = {"remaining": token} if token else {}
    return see_other(request, page_path(request, "reset.page", done="1", **more))


@password_check("authsite.reset.check", ResetBody, "reset-token", permission=NO_PERMISSION_REQUIRED)
def check(request: Request) -> dict[str, Any]:
    """Rate the new password while it is typed, by the names of the user of the link."""
    given: ResetBody = request.authsite.validated
    user = service.check_token(request.authsite.ctx, given.email, given.token)
    return rating(request, given.password, user)
