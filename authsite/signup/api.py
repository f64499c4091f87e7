"""The registration endpoint."""

from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite import clock
from authsite.http.bodies import Body, Email, Identifier, MaybeEmpty, Password, Url
from authsite.http.page_urls import check_page_url
from authsite.users.account import as_json
from authsite.users.errors import IdentifierTaken

from . import service


class RegisterBody(Body):
    """A new user. ``username`` and ``phone`` count only where they are enabled."""

    email: Email
    password: Password
    name: MaybeEmpty | None = None
    username: Identifier | None = None
    phone: Identifier | None = None
    verification_url: Url | None = None


@view_config(
    route_name="authsite.register",
    request_method="POST",
    body=RegisterBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
def register(request):
    """Create a user. No tokens are issued: log in next."""
    given, cfg = request.given, request.cfg
    if given.verification_url is not None:
        own = (f"{request.base_url}/email/verify",)
        allowed = cfg.allowed_verify_email_urls or own
        check_page_url(given.verification_url, allowed, "verification_url")
    identifiers = {"email": given.email, "username": given.username, "phone": given.phone}
    try:
        user = service.register(
            request.db, cfg, request.passwords, clock.now(), request.source,
            identifiers, given.password, given.name,
        )  # fmt: skip
    except IdentifierTaken:
        if not cfg.prevent_enumeration:
            raise
    if cfg.prevent_enumeration:
        request.response.status_int = 202
        return {"message": "If the address can be registered, a message is on its way to it."}
    request.response.status_int = 201
    return as_json(user)
