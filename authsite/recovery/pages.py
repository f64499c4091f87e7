"""The pages of the password reset."""

from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.http.bodies import Body, Email
from authsite.http.rendering import see_other

from . import service
from .api import ResetBody, ask, spend

FORGOT = "authsite:templates/recovery/forgot.jinja2"
RESET = "authsite:templates/recovery/reset.jinja2"


class ForgotForm(Body):
    """Whose password is forgotten."""

    email: Email
    csrf_token: str | None = None


class ResetForm(ResetBody):
    """The new password, with what the link carried."""

    csrf_token: str | None = None


def forgot_form(request):
    """The form, or that a message is on its way."""
    return {"sent": request.GET.get("sent")}


@view_config(
    route_name="authsite.forgot.page",
    request_method="GET",
    renderer=FORGOT,
    permission=NO_PERMISSION_REQUIRED,
)
def show_forgot(request):
    """The form that asks for a link."""
    return forgot_form(request)


@view_config(
    route_name="authsite.forgot.page",
    request_method="POST",
    form=ForgotForm,
    again=forgot_form,
    throttle="forgot-address",
    renderer=FORGOT,
    permission=NO_PERMISSION_REQUIRED,
)
def forgot(request):
    """Ask for a link; the answer is the same for every address."""
    page_url = service.page_urls(request.cfg, request.base_url)[0]
    ask(request, request.given.email, page_url)
    return see_other(request, f"{request.route_path('authsite.forgot.page')}?sent=1")


def reset_form(request):
    """The form, with what the link carries; the page's script takes it out of the address bar."""
    values = request.sent or request.GET
    return {
        "email": values.get("email", ""),
        "token": values.get("token", ""),
        "done": request.GET.get("done"),
    }


@view_config(
    route_name="authsite.reset.page",
    request_method="GET",
    renderer=RESET,
    permission=NO_PERMISSION_REQUIRED,
)
def show_reset(request):
    """The form for a new password; opening it uses nothing up."""
    return reset_form(request)


@view_config(
    route_name="authsite.reset.page",
    request_method="POST",
    form=ResetForm,
    again=reset_form,
    throttle="reset-token",
    renderer=RESET,
    permission=NO_PERMISSION_REQUIRED,
)
def reset(request):
    """Set the new password."""
    spend(request)
    return see_other(request, f"{request.route_path('authsite.reset.page')}?done=1")
