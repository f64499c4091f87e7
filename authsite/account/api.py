"""The JSON views of the account package."""

from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.platform.http.api_metadata import (
    Message,
    Operation,
    Parameters,
    ResponseHeader,
    response_body,
)
from authsite.platform.http.bodies import (
    Body,
    CurrentPassword,
    Email,
    Flag,
    MailCode,
    MaybeEmpty,
    NewPassword,
    Url,
)
from authsite.platform.http.return_to import page_not_allowed
from authsite.platform.passwords import policy
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in.errors import PROOF_ERRORS, DomainNotAllowed
from authsite.sign_in.methods.mail_code.pages import send_to_session
from authsite.sign_in.reauthentication import ProofFields
from authsite.users import former
from authsite.users.account import UserAnswer, acr_of, as_json, shown_amr
from authsite.users.caller import caller_of
from authsite.users.errors import AddressTaken, IdentifierTaken, LastOwner, UserRequired
from authsite.verification import email_change

from . import judges, service, sessions
from .service import NoPendingChange, UnknownSession

# The bodies of requests and responses of the account API.


Name = Annotated[str, Field(max_length=320)]


class ProfileBody(Body):
    description = "The fields to change. A missing field keeps its value; an empty one removes it."

    name: Annotated[MaybeEmpty | None, Field(examples=["Ann Lee"])] = None
    """The user's name."""
    username: Name | None = None
    """A login name, where usernames are enabled."""
    phone: Name | None = None
    """A phone number to log in with, where they are enabled."""


class ProofBody(Body):
    description = "A proof of the user."

    current_password: CurrentPassword = None
    """The user's password. A user without one confirms with a linked provider instead."""
    mail_code: MailCode = None
    """The code that was mailed for this change, where one is asked for."""


class EmailBody(Body):
    description = "A new e-mail address."

    email: Email
    """The new address; it takes effect when its link is used."""
    current_password: CurrentPassword = None
    """The user's password. A user without one confirms with a linked provider instead."""
    mail_code: MailCode = None
    """The code that was mailed for this change, where one is asked for."""
    verification_url: Url | None = None
    """The page that the link opens: one of those configured. The first of them by default."""


class PasswordBody(Body):
    description = "A new password."

    current_password: CurrentPassword = None
    """The current password. A user without one confirms with a linked provider instead."""
    mail_code: MailCode = None
    """The code that was mailed for this change, where one is asked for."""
    password: NewPassword
    """The new password."""


class DeleteBody(ProofBody):
    description = "The confirmation of the user who deletes the account."


class ExportBody(ProofBody):
    description = "The confirmation of the user whose data is exported."


_Id = Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
_Moment = Annotated[str, Field(examples=["2026-01-31T09:30:00Z"])]


class EndSessionBody(Body):
    description = "What ends with the session. The body may be left out."

    revoke_tokens: Annotated[Flag | None, Field(examples=[False])] = None
    """Whether the personal access tokens that were created in the session are revoked, too: the
    `tokens` of the session in the list. By default `true`."""


class SessionPath(Parameters):
    """Path of one session."""

    id: _Id
    """Its id in the list."""


@response_body("A personal access token that was created in a session.")
class TokenOfSession(TypedDict):
    id: _Id
    """The id for `DELETE /v1/user/tokens/{id}`."""
    name: Annotated[str, Field(examples=["backup script"])]
    """What the token is for."""


@response_body("An active session of the user.")
class SessionAnswer(TypedDict):
    id: _Id
    """The id for `DELETE /v1/user/sessions/{id}`."""
    kind: Annotated[str, Field(examples=["app"])]
    """`browser` (signed in with a browser) or `app` (the tokens of a client)."""
    client: Annotated[str | None, Field(examples=["Web shop"])]
    """The name of the client that holds the tokens."""
    address: Annotated[str | None, Field(examples=["192.0.2.7"])]
    """The IP address that the login came from."""
    agent: Annotated[str | None, Field(examples=["Mozilla/5.0 (X11; Linux) Firefox/140.0"])]
    """The program that logged in, from its `User-Agent`."""
    created: _Moment
    """When the user logged in."""
    last_used: _Moment
    """When the session was last used, to the hour."""
    current: bool
    """Whether this request belongs to the session."""
    acr: Annotated[str, Field(examples=["aal2"])]
    """The level of the sign-in: `aal1`, `aal2` or `phr`."""
    amr: Annotated[list[str], Field(examples=[["pwd", "otp", "mfa"]])]
    """How the user proved to be who they are (RFC 8176)."""
    auth_time: Annotated[int | None, Field(examples=[1767222000])]
    """When the user last did so, in seconds since 1970; null if another provider did not tell."""
    tokens: list[TokenOfSession]
    """The active personal access tokens that were created in the session."""


@response_body("The active sessions of the user.")
class SessionsAnswer(TypedDict):
    sessions: list[SessionAnswer]
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


_Rows = list[dict[str, Any]]


@response_body("Everything that is stored about the user.")
class ExportAnswer(TypedDict):
    exported_at: _Moment
    """When this was read."""
    user: dict[str, Any]
    """The user, with a pending change of the address and the accepted terms."""
    identities: _Rows
    """The accounts at other providers with which the user can sign in."""
    login_names: _Rows
    """The names that the user logs in with."""
    former_addresses: _Rows
    """Former addresses that a mailed link can still restore."""
    groups: _Rows
    """The groups that the user is in, and since when."""
    invitations: _Rows
    """The invitations to the address of the user."""
    sent_invitations: _Rows
    """The invitations that the user has sent."""
    applications: _Rows
    """The applications whose ids the other parts name: name and, where it has one, the URL."""
    consents: _Rows
    """The applications that the user has allowed something, and what."""
    sign_ins_of_apps: _Rows
    """The token families of logins, also ended ones."""
    sign_ins_of_browsers: _Rows
    """The browser sessions."""
    personal_access_tokens: _Rows
    """The personal access tokens, also ended ones."""
    remembered_browsers: _Rows
    """The browsers that are not asked for the second factor for a time."""
    totp_factors: _Rows
    """The authenticator app, without its secret."""
    passkeys: _Rows
    """The passkeys, without their keys."""
    recovery_codes: _Rows
    """When recovery codes were made and used, without the codes."""
    mails: _Rows
    """The mails of the last days: kind, address and state, never their text."""
    audit_events: _Rows
    """The events of the audit trail that name the user."""
    rate_limits: _Rows
    """The rate limits that count for the user."""


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


@view_config(
    route_name="authsite.user",
    request_method="PATCH",
    body=ProfileBody,
    judge=judges.profile,
    renderer="json",
)
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
    judge=judges.email,
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
        *PROOF_ERRORS,
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
        request.authsite.ctx, user, ProofFields.of(given), given.email, given.verification_url
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
    change = former.find_pending(request.authsite.ctx.db, user.id)
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
    route_name="authsite.user.password",
    request_method="PUT",
    body=PasswordBody,
    judge=judges.password,
    renderer="json",
)
@Operation(
    "Change the password",
    {200: Message},
    description="All other tokens and sessions of the user are revoked.",
    errors=(
        *PROOF_ERRORS,
        policy.WEAK,
        UserRequired,
        TooManyAttempts(60),
    ),
)
def change_password(request: Request) -> Message:
    user = caller_of(request).signed_in_user()
    given: PasswordBody = request.authsite.validated
    service.change_password(request.authsite.ctx, user, ProofFields.of(given), given.password)
    return {"message": "The password is changed. All other devices are signed out."}


@view_config(route_name="authsite.user.sessions", request_method="GET", renderer="json")
@Operation("List the active sessions of the user", {200: SessionsAnswer}, errors=(UserRequired,))
def list_sessions(request: Request) -> SessionsAnswer:
    caller = caller_of(request)
    found, more = sessions.list_active(
        request.authsite.ctx, caller.acting_user().id, caller.session_uuid
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
                "acr": acr_of(item.amr),
                "amr": list(shown_amr(item.amr)),
                "auth_time": int(item.auth_at.timestamp()) if item.auth_at else None,
                "tokens": [{"id": str(each.id), "name": each.name} for each in item.tokens],
            }
            for item in found
        ],
        "more": more,
    }


@view_config(route_name="authsite.user.session", request_method="DELETE", body=EndSessionBody)
@Operation(
    "End one session of the user",
    {204: None},
    description=(
        "The personal access tokens that were created in the session are revoked, too, unless the "
        "body says otherwise."
    ),
    errors=(UnknownSession, UserRequired),
    path=SessionPath,
)
def end_session(request: Request) -> Response:
    caller, given = caller_of(request), request.authsite.validated
    ended = sessions.end(
        request.authsite.ctx,
        caller.acting_user().id,
        service.session_id(request.matchdict["id"]),
        caller.session_uuid,
        revoke_tokens=given.revoke_tokens is not False,
    )
    if not ended:
        raise UnknownSession
    request.response.status_int = 204
    return request.response


@view_config(route_name="authsite.user", request_method="DELETE", body=DeleteBody)
@Operation(
    "Delete the account",
    {204: None},
    description="All tokens and sessions of the user are revoked, and the user is erased.",
    errors=(*PROOF_ERRORS, UserRequired, LastOwner, TooManyAttempts(60)),
)
def delete(request: Request) -> Response:
    user = caller_of(request).signed_in_user()
    given: DeleteBody = request.authsite.validated
    service.delete(request.authsite.ctx, user, ProofFields.of(given))
    request.response.status_int = 204
    return request.response


@view_config(
    route_name="authsite.user.export", request_method="POST", body=ExportBody, renderer="json"
)
@Operation(
    "Export everything that is stored about the user",
    {200: ExportAnswer},
    description=(
        "Never a password hash, a key or a token. Five exports a day are allowed (limit "
        "`export`). Later versions may add parts and fields."
    ),
    errors=(*PROOF_ERRORS, UserRequired, TooManyAttempts(60)),
)
def export_data(request: Request) -> dict[str, Any]:
    user = caller_of(request).signed_in_user()
    given: ExportBody = request.authsite.validated
    return service.export_own(request.authsite.ctx, user, ProofFields.of(given))


@view_config(route_name="authsite.user.mail_code", request_method="POST", renderer="json")
@Operation(
    "Mail a code to the user",
    {202: Message},
    description=(
        "The code is for `mail_code` of a request of this sign-in, for 10 minutes; one that was "
        "mailed before ends. Over the limit `email-code` none is mailed."
    ),
    errors=(UserRequired,),
)
def mail_code(request: Request) -> Message:
    send_to_session(request.authsite.ctx, caller_of(request).signed_in_user())
    request.response.status_int = 202
    return {"message": "A code is on its way to the user's e-mail address."}
