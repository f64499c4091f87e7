"""The registration page."""

from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite import clock
from authsite.http.bodies import Body, Email, Identifier, MaybeEmpty, Password
from authsite.http.rendering import see_other
from authsite.users.errors import IdentifierTaken
from authsite.verification.service import page_urls

from . import service

REGISTER = "authsite:templates/signup/register.jinja2"


class RegisterForm(Body):
    """The registration form."""

    email: Email
    password: Password
    name: MaybeEmpty | None = None
    username: Identifier | None = None
    phone: Identifier | None = None
    csrf_token: str | None = None


def register_form(request):
    """The form, or that it is done."""
    return {"done": request.GET.get("done")}


@view_config(
    route_name="authsite.register.page",
    request_method="GET",
    renderer=REGISTER,
    permission=NO_PERMISSION_REQUIRED,
)
def show(request):
    """The registration form; whoever is signed in already is sent on."""
    if request.signed_in:
        return see_other(request, request.route_path("authsite.account"))
    return register_form(request)


@view_config(
    route_name="authsite.register.page",
    request_method="POST",
    form=RegisterForm,
    again=register_form,
    throttle="register-address",
    renderer=REGISTER,
    permission=NO_PERMISSION_REQUIRED,
)
def register(request):
    """Create the user and mail a link that proves the address; the answer tells to look there."""
    given, cfg = request.given, request.cfg
    identifiers = {"email": given.email, "username": given.username, "phone": given.phone}
    page_url = page_urls(cfg, request.base_url)[0]
    try:
        service.register(
            request.db, cfg, request.passwords, clock.now(), request.source,
            identifiers, given.password, given.name, page_url,
        )  # fmt: skip
    except IdentifierTaken:
        if not cfg.prevent_enumeration:
            raise
        service.tell_owner(request.db, clock.now(), request.source, given.email)
    return see_other(request, f"{request.route_path('authsite.register.page')}?done=1")
