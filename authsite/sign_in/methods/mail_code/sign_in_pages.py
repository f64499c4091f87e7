"""The request for a code to sign in with: `email-sign-in`."""

from typing import Annotated

from pydantic import Field
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.platform.http.bodies import Body, Identifier
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.http.forms import form_view
from authsite.platform.http.rendering import found
from authsite.platform.request_state import Request
from authsite.sign_in.known_address import keep_address, lead_on_signed_in
from authsite.sign_in.login_url import login_url
from authsite.sign_in.method import Target
from authsite.sign_in.pages import LOGIN, lead_in, login_form
from authsite.sign_in.wording import wording

from . import service as mail_code


class EmailSignInForm(Body):
    """The login name of who wants a code."""

    username: Identifier | None = None
    remember: Annotated[str, Field(max_length=8)] | None = None


def to_login(request: Request) -> Response:
    """The form is on the login page."""
    return found(request, login_url(request, request.authsite.next))


@form_view(
    "authsite.login.email",
    EmailSignInForm,
    show=login_form,
    get=to_login,
    instead=lead_on_signed_in("username"),
    renderer=LOGIN,
    permission=NO_PERMISSION_REQUIRED,
)
def request_code(request: Request) -> Response:
    """Mail a code, and lead to the page that takes it; the answer is the same for every name."""
    ctx, given = request.authsite.ctx, request.authsite.validated
    if not given.username:
        missing = wording(ctx.settings.login_identifiers).missing
        raise ValidationFailed(details=[FieldError("required", "username", missing)])
    target = Target(remember=given.remember is not None, next=request.authsite.next)
    begun = mail_code.begin(ctx, given.username, target)
    _keep_typed(request, given.username)
    return lead_in(request, begun)


def _keep_typed(request: Request, typed: str) -> None:
    """Let the next page name the address as it was typed; a name of another kind is not kept."""
    try:
        keep_address(request, typed)
    except ValidationFailed:
        return
