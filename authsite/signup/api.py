"""The JSON view of registration."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.platform.http.api_metadata import Operation, response_body
from authsite.platform.http.bodies import (
    Body,
    Consent,
    Email,
    Identifier,
    MaybeEmpty,
    NewPassword,
    Url,
)
from authsite.platform.http.errors import FieldError
from authsite.platform.http.return_to import page_not_allowed
from authsite.platform.passwords import policy
from authsite.platform.request_state import Request
from authsite.sign_in.errors import DomainNotAllowed
from authsite.users.account import UserAnswer, as_json
from authsite.users.errors import IdentifierTaken

from . import service


class RegisterBody(Body):
    description = "A new user. `username` and `phone` are used only if they are enabled."

    email: Email
    """The user's e-mail address."""
    password: NewPassword
    """Long or hard to guess; there are no composition rules."""
    name: MaybeEmpty | None = None
    """The user's name."""
    username: Identifier | None = None
    """A login name, where usernames are enabled."""
    phone: Identifier | None = None
    """A phone number to log in with, where they are enabled."""
    verification_url: Url | None = None
    """The page that the link in the verification mail opens: one of those configured."""
    terms_accepted: Consent | None = None
    """`true` (as text or as a JSON boolean): the user accepts the terms of use. Required where
    terms are configured (`terms-url`), else ignored."""


_MAYBE = "If the address can be registered, a message is on its way to it."


@response_body(
    "With `prevent-enumeration`: the same response, whether or not the address was free."
)
class MaybeRegistered(TypedDict):
    message: Annotated[str, Field(examples=[_MAYBE])]
    """Human-readable."""


def judge(request: Request, given: Any) -> Sequence[FieldError]:
    """What is wrong with the other fields of a refused registration: see `bodies.Judge`.

    With a password it counts as a registration: to rate one takes processor time, and anyone may
    ask. Raises `TooManyAttempts`.
    """
    limits = request.authsite.ctx.limits
    if given.password:
        limits.count("register-address", limits.address)
    sign_up = service.SignUp(
        {"email": given.email, "username": given.username, "phone": given.phone},
        given.password or "",
        given.name,
        getattr(given, "verification_url", None),
        given.terms_accepted,
    )
    return service.sign_up_errors(request.authsite.ctx, sign_up)


@view_config(
    route_name="authsite.register",
    request_method="POST",
    body=RegisterBody,
    judge=judge,
    rate_limit="register-address",
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Create a user",
    {201: UserAnswer, 202: MaybeRegistered},
    description="No tokens are issued; log in next.",
    errors=(
        policy.WEAK,
        page_not_allowed("verification_url"),
        IdentifierTaken(["email"]),
        DomainNotAllowed,
    ),
)
def register(request: Request) -> UserAnswer | MaybeRegistered:
    """Respond 201 with the user, or 202 if `service.sign_up` hides whether one was created."""
    given: RegisterBody = request.authsite.validated
    made = service.sign_up(
        request.authsite.ctx,
        service.SignUp(
            {"email": given.email, "username": given.username, "phone": given.phone},
            given.password,
            given.name,
            given.verification_url,
            given.terms_accepted,
        ),
    )
    if made.hidden or made.user is None:
        request.response.status_int = 202
        return {"message": _MAYBE}
    request.response.status_int = 201
    return as_json(made.user, request.authsite.settings.login_identifiers)
