"""The JSON views of the account package."""

from typing import Any

from pyramid.response import Response
from pyramid.view import view_config

from authsite.platform.http.api_metadata import Message, Operation, ResponseHeader
from authsite.platform.http.page_urls import page_not_allowed
from authsite.platform.passwords import policy
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in.errors import PROOF_ERRORS, DomainNotAllowed
from authsite.sign_in.methods.mail_code.session_codes import send_to_session
from authsite.sign_in.reauthentication import ProofFields
from authsite.users import pending
from authsite.users.account import UserAnswer, as_json
from authsite.users.caller import caller_of
from authsite.users.errors import AddressTaken, IdentifierTaken, LastOwner, UserRequired
from authsite.users.levels import acr_of, shown_amr
from authsite.verification import email_change

from . import active_sessions, export, judges, service
from .bodies import (
    DeleteBody,
    EmailBody,
    EndSessionBody,
    ExportAnswer,
    ExportBody,
    PasswordBody,
    PendingAnswer,
    ProfileBody,
    SessionPath,
    SessionsAnswer,
)
from .errors import NoPendingChange, UnknownSession


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
    found, more = active_sessions.list_active(
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
    ended = active_sessions.end(
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
    return export.export_own(request.authsite.ctx, user, ProofFields.of(given))


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
