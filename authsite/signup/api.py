"""How somebody becomes a user."""

from typing import Annotated

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite import clock
from authsite.http.answers import answers, exact
from authsite.http.bodies import Body, Email, Identifier, MaybeEmpty, Password, Url
from authsite.http.errors import FieldError, ValidationFailed
from authsite.http.page_urls import check_page_url
from authsite.users.account import UserAnswer, as_json
from authsite.users.errors import IdentifierTaken
from authsite.verification.service import page_urls

from . import service


class RegisterBody(Body):
    """A new user. ``username`` and ``phone`` count only where they are enabled."""

    email: Email
    """The user's e-mail address."""
    password: Password
    """Long, or hard to guess; no rules of composition."""
    name: MaybeEmpty | None = None
    """What the user is called."""
    username: Identifier | None = None
    """A login name, where usernames are enabled."""
    phone: Identifier | None = None
    """A phone number to log in with, where they are enabled."""
    verification_url: Url | None = None
    """The page that the link in the verification mail opens: one of those configured."""


_MAYBE = "If the address can be registered, a message is on its way to it."


@exact
class MaybeRegistered(TypedDict):
    """With `prevent-enumeration`: the same answer, whether or not the address was free."""

    message: Annotated[str, Field(examples=[_MAYBE])]
    """For a person."""


_WEAK = FieldError("weak_password", "password", "This is a common word or name.")
_NOT_ALLOWED = FieldError("not_allowed", "verification_url", "Send one of those configured.")


@view_config(
    route_name="authsite.register",
    request_method="POST",
    body=RegisterBody,
    throttle="register-address",
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@answers(
    {201: UserAnswer, 202: MaybeRegistered},
    errors=(
        ValidationFailed(details=[_WEAK]),
        ValidationFailed(details=[_NOT_ALLOWED]),
        IdentifierTaken(["email"]),
    ),
)
def register(request):
    """Create a user.

    No tokens are issued: log in next.
    """
    given, cfg = request.given, request.cfg
    if given.verification_url is not None:
        allowed = page_urls(cfg, request.base_url)
        check_page_url(given.verification_url, allowed, "verification_url")
    identifiers = {"email": given.email, "username": given.username, "phone": given.phone}
    try:
        user = service.register(
            request.db, cfg, request.passwords, clock.now(), request.source,
            identifiers, given.password, given.name, given.verification_url,
        )  # fmt: skip
    except IdentifierTaken:
        if not cfg.prevent_enumeration:
            raise
        service.tell_owner(request.db, clock.now(), request.source, given.email)
    if cfg.prevent_enumeration:
        request.response.status_int = 202
        return {"message": _MAYBE}
    request.response.status_int = 201
    return as_json(user)
