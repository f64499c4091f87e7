"""What users may do with their account: change it, see where it is signed in, end it."""

from typing import Annotated
from uuid import UUID

from pydantic import Field
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite import clock
from authsite.guards.errors import UserRequired
from authsite.http.answers import Message, Parameters, answers, exact
from authsite.http.bodies import Body, MaybeEmpty, Password
from authsite.http.errors import FieldError, ValidationFailed
from authsite.oauth import signins
from authsite.users.account import UserAnswer, as_json
from authsite.users.errors import IdentifierTaken

from . import service
from .errors import UnknownSignIn

Name = Annotated[str, Field(max_length=320)]
_WRONG = FieldError("invalid_password", "current_password", "This is not your current password.")
_WEAK = FieldError("weak_password", "password", "This is a common word or name.")


class ProfileBody(Body):
    """What changes; what is left out stays, and an empty text takes a value away."""

    name: Annotated[MaybeEmpty | None, Field(examples=["Ann Lee"])] = None
    """What the user is called."""
    username: Name | None = None
    """A login name, where usernames are enabled."""
    phone: Name | None = None
    """A phone number to log in with, where they are enabled."""


class PasswordBody(Body):
    """A new password."""

    current_password: Password
    """The password so far."""
    password: Password
    """The new one."""


class DeleteBody(Body):
    """The proof that it is the user who wants the account gone."""

    current_password: Password
    """The user's password."""


class SignInPath(Parameters):
    """Which place."""

    id: Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
    """Its id in the list."""


@exact
class SignInAnswer(TypedDict):
    """One place where the user is signed in."""

    id: str
    """What ends it: `DELETE /v1/user/sessions/{id}`."""
    kind: str
    """`browser` (a web session) or `app` (tokens)."""
    client: str | None
    """The name of the client that holds the tokens."""
    address: str | None
    """Where the login came from."""
    agent: str | None
    """The program that logged in, as it named itself."""
    created: str
    """When the login was."""
    last_used: str
    """When it was used last, to the hour."""
    current: bool
    """Whether this request belongs to it."""


@exact
class SignInsAnswer(TypedDict):
    """Where the user is signed in."""

    sessions: list[SignInAnswer]
    """The current one first, then the last used."""


@view_config(route_name="authsite.user", request_method="PATCH", body=ProfileBody, renderer="json")
@answers({200: UserAnswer}, errors=(IdentifierTaken(["username"]), UserRequired))
def change(request):
    """Change the user's name, username or phone number."""
    given = request.given
    user = service.change_profile(
        request.db, request.cfg, clock.now(), request.source, request.caller.acting_user(),
        given.name, {"username": given.username, "phone": given.phone},
    )  # fmt: skip
    return as_json(user)


@view_config(
    route_name="authsite.user.password", request_method="PUT", body=PasswordBody, renderer="json"
)
@answers(
    {200: Message},
    errors=(ValidationFailed(details=[_WRONG]), ValidationFailed(details=[_WEAK]), UserRequired),
)
def change_password(request):
    """Change the password. All other tokens and sessions of the user end."""
    given, caller = request.given, request.caller
    service.change_password(
        request.db, request.database, request.cfg, request.passwords, clock.now(),
        request.source, caller.acting_user(), given.current_password, given.password,
        family_id=caller.family_id,
    )  # fmt: skip
    return {"message": "The password is changed. All other devices are signed out."}


@view_config(route_name="authsite.user.sessions", request_method="GET", renderer="json")
@answers({200: SignInsAnswer}, errors=(UserRequired,))
def list_sign_ins(request):
    """List where the user is signed in."""
    caller = request.caller
    found = signins.listing(request.reading, clock.now(), caller.acting_user().id, caller.family_id)
    return {
        "sessions": [
            {
                "id": str(item.id),
                "kind": item.kind,
                "client": item.client,
                "address": item.address,
                "agent": item.agent,
                "created": clock.rfc3339(item.created),
                "last_used": clock.rfc3339(item.last_used),
                "current": item.current,
            }
            for item in found
        ]
    }


@view_config(route_name="authsite.user.session", request_method="DELETE")
@answers({204: None}, errors=(UnknownSignIn, UserRequired), path=SignInPath)
def end_sign_in(request):
    """Sign the user out in one place."""
    user = request.caller.acting_user()
    try:
        wanted = UUID(request.matchdict["id"])
    except ValueError:
        raise UnknownSignIn from None
    if not signins.end(request.db, clock.now(), request.source, user.id, wanted):
        raise UnknownSignIn
    request.response.status_int = 204
    return request.response


@view_config(route_name="authsite.user", request_method="DELETE", body=DeleteBody)
@answers({204: None}, errors=(ValidationFailed(details=[_WRONG]), UserRequired))
def delete(request):
    """Delete the account: everything of the user is revoked, and the record is erased."""
    service.delete(
        request.db, request.database, request.passwords, clock.now(), request.source,
        request.caller.acting_user(), request.given.current_password,
    )  # fmt: skip
    request.response.status_int = 204
    return request.response
