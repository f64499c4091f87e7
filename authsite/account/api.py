"""The JSON views of the account package."""

from typing import Annotated

from pydantic import Field
from pyramid.response import Response
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite import clock
from authsite.guards.caller import caller_of
from authsite.guards.errors import UserRequired
from authsite.http.api_metadata import (
    Message,
    Operation,
    Parameters,
    ResponseHeader,
    response_body,
)
from authsite.http.bodies import Body, CurrentPassword, Email, MaybeEmpty, NewPassword, Url
from authsite.http.page_urls import page_not_allowed
from authsite.login.errors import DomainNotAllowed, WrongCurrentPassword
from authsite.passwords import policy
from authsite.rate_limit.errors import TooManyAttempts
from authsite.request_state import Request
from authsite.users import pending
from authsite.users.account import UserAnswer, as_json
from authsite.users.errors import AddressTaken, IdentifierTaken
from authsite.verification import email_change

from . import active_sessions, service
from .errors import NoPendingChange, UnknownSignIn

Name = Annotated[str, Field(max_length=320)]


class ProfileBody(Body):
    description = "The fields to change. A missing field keeps its value; an empty one removes it."

    name: Annotated[MaybeEmpty | None, Field(examples=["Ann Lee"])] = None
    """The user's name."""
    username: Name | None = None
    """A login name, where usernames are enabled."""
    phone: Name | None = None
    """A phone number to log in with, where they are enabled."""


class EmailBody(Body):
    description = "A new e-mail address."

    email: Email
    """The new address; it takes effect when its link is used."""
    current_password: CurrentPassword
    """The user's password."""
    verification_url: Url | None = None
    """The page that the link opens: one of those configured. The first of them by default."""


class PasswordBody(Body):
    description = "A new password."

    current_password: CurrentPassword
    """The current password."""
    password: NewPassword
    """The new password."""


class DeleteBody(Body):
    description = "The confirmation of the user who deletes the account."

    current_password: CurrentPassword
    """The user's password."""


_Id = Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
_Moment = Annotated[str, Field(examples=["2026-01-31T09:30:00Z"])]


class SignInPath(Parameters):
    """Path of one active session or token family."""

    id: _Id
    """Its id in the list."""


@response_body("An active sign-in of the user.")
class SignInAnswer(TypedDict):
    id: _Id
    """The id for `DELETE /v1/user/sessions/{id}`."""
    kind: Annotated[str, Field(examples=["app"])]
    """`browser` (a web session) or `app` (tokens)."""
    client: Annotated[str | None, Field(examples=["Web shop"])]
    """The name of the client that holds the tokens."""
    address: Annotated[str | None, Field(examples=["192.0.2.7"])]
    """The IP address that the login came from."""
    agent: Annotated[str | None, Field(examples=["Mozilla/5.0 (X11; Linux) Firefox/140.0"])]
    """The program that logged in, from its `User-Agent`."""
    created: _Moment
    """When the user logged in."""
    last_used: _Moment
    """When the sign-in was last used, to the hour."""
    current: bool
    """Whether this request belongs to the sign-in."""


@response_body("The active sign-ins of the user.")
class SignInsAnswer(TypedDict):
    sessions: list[SignInAnswer]
    """The current one first, then the most recently used; at most 100."""
    more: bool
    """Whether there are others, which were used less recently."""


@response_body("A pending change of address: its link has not been used yet.")
class PendingAnswer(TypedDict):
    email: Annotated[str, Field(examples=["ann@example.org"])]
    """The requested address."""
    expires_at: Annotated[
        str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])
    ]
    """When the link in the mail expires."""


# Registered in `includeme`, before the other views of its route.
@Operation(
    "Show the user that the token acts for",
    {200: UserAnswer},
    headers={
        200: {
            "X-Auth-Scope": ResponseHeader(
                "The scopes of the token, separated by spaces, or empty.", "reports:read"
            )
        }
    },
    errors=(UserRequired,),
)
def show(request: Request) -> UserAnswer:
    caller = caller_of(request)
    # The bare list: WebOb's mapping searches it for every name.
    request.response.headerlist.append(("X-Auth-Scope", " ".join(caller.scope)))
    return as_json(caller.acting_user(), caller.login_names)


@view_config(route_name="authsite.user", request_method="PATCH", body=ProfileBody, renderer="json")
@Operation(
    "Change the user's name, username or phone number",
    {200: UserAnswer},
    errors=(IdentifierTaken(["username"]), UserRequired, TooManyAttempts(60)),
)
def change(request: Request) -> UserAnswer:
    given: ProfileBody = request.authsite.validated
    caller = caller_of(request)
    user = service.change_profile(
        request.authsite.ctx,
        caller.acting_user(),
        given.name,
        {"username": given.username, "phone": given.phone},
    )
    return as_json(user, caller.login_names)


@view_config(
    route_name="authsite.user.email",
    request_method="PUT",
    body=EmailBody,
    renderer="json",
)
@Operation(
    "Request a change of the e-mail address",
    {202: Message},
    description=(
        "A link goes to the new address and a notice to the old one; the old address stays in use "
        "until the link is used. The change is canceled when another sign-in of the user is "
        "ended, when the password is set, and when another change is requested. When the change "
        "takes place, all sign-ins end except the browser session in which it was confirmed. A "
        "confirmed former address gets a link that takes the change back."
    ),
    errors=(
        WrongCurrentPassword,
        page_not_allowed("verification_url"),
        DomainNotAllowed,
        AddressTaken,
        UserRequired,
        TooManyAttempts(60),
    ),
)
def change_email(request: Request) -> Message:
    user = caller_of(request).signed_in_user()
    given: EmailBody = request.authsite.validated
    email_change.request_change(
        request.authsite.ctx, user, given.current_password, given.email, given.verification_url
    )
    request.response.status_int = 202
    return {"message": "A message with a link is on its way."}


@view_config(route_name="authsite.user.email.pending", request_method="GET", renderer="json")
@Operation(
    "Show the pending change of address",
    {200: PendingAnswer},
    errors=(NoPendingChange, UserRequired),
)
def show_pending(request: Request) -> PendingAnswer:
    user = caller_of(request).acting_user()
    change = pending.find(request.authsite.ctx.db, user.id)
    if change is None:
        raise NoPendingChange
    return {"email": change.email, "expires_at": clock.rfc3339(change.expires_at)}


@view_config(route_name="authsite.user.email.pending", request_method="DELETE")
@Operation("Cancel the pending change of address", {204: None}, errors=(UserRequired,))
def cancel_change(request: Request) -> Response:
    user = caller_of(request).acting_user()
    email_change.cancel_change(request.authsite.ctx, user.id)
    request.response.status_int = 204
    return request.response


@view_config(
    route_name="authsite.user.password", request_method="PUT", body=PasswordBody, renderer="json"
)
@Operation(
    "Change the password",
    {200: Message},
    description="All other tokens and sessions of the user are revoked.",
    errors=(
        WrongCurrentPassword,
        policy.WEAK,
        UserRequired,
        TooManyAttempts(60),
    ),
)
def change_password(request: Request) -> Message:
    user = caller_of(request).signed_in_user()
    given: PasswordBody = request.authsite.validated
    service.change_password(request.authsite.ctx, user, given.current_password, given.password)
    return {"message": "The password is changed. All other devices are signed out."}


@view_config(route_name="authsite.user.sessions", request_method="GET", renderer="json")
@Operation("List the active sign-ins of the user", {200: SignInsAnswer}, errors=(UserRequired,))
def list_sign_ins(request: Request) -> SignInsAnswer:
    caller = caller_of(request)
    found, more = active_sessions.list_active(
        request.authsite.ctx, caller.acting_user().id, caller.family_uuid
    )
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
        ],
        "more": more,
    }


@view_config(route_name="authsite.user.session", request_method="DELETE")
@Operation(
    "End one sign-in of the user",
    {204: None},
    errors=(UnknownSignIn, UserRequired),
    path=SignInPath,
)
def end_sign_in(request: Request) -> Response:
    caller = caller_of(request)
    user = caller.acting_user()
    wanted = service.sign_in_id(request.matchdict["id"])
    if not active_sessions.end(request.authsite.ctx, user.id, wanted, caller.family_uuid):
        raise UnknownSignIn
    request.response.status_int = 204
    return request.response


@view_config(route_name="authsite.user", request_method="DELETE", body=DeleteBody)
@Operation(
    "Delete the account",
    {204: None},
    description="All tokens and sessions of the user are revoked, and the user is erased.",
    errors=(WrongCurrentPassword, UserRequired, TooManyAttempts(60)),
)
def delete(request: Request) -> Response:
    user = caller_of(request).signed_in_user()
    given: DeleteBody = request.authsite.validated
    service.delete(request.authsite.ctx, user, given.current_password)
    request.response.status_int = 204
    return request.response
