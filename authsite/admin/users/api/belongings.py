"""What belongs to a user: sign-ins, tokens, factors, limits, mails, events, all stored data."""

from collections.abc import Callable
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field
from pyramid.response import Response
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.account.api import ExportAnswer
from authsite.admin.audit.api import EventsAnswer
from authsite.admin.audit.service import facts as event_facts
from authsite.admin.audit.service import list_events
from authsite.admin.confirming import ReasonBody
from authsite.admin.errors import InvalidCursor, Outranked, PermissionMissing, UnknownObject
from authsite.admin.guard import administrator_of
from authsite.admin.judges import Before, of_reason
from authsite.admin.lists import LINK, ListQuery, add_link, answer, query_of
from authsite.admin.mail.api import MailsAnswer
from authsite.admin.users import actions, detail, judges
from authsite.platform.audit.service import Filter
from authsite.platform.context import Context
from authsite.platform.http.api_metadata import Operation, View, response_body
from authsite.platform.mail.outbox import facts as mail_facts
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.users.models import User

from .accounts import (
    FactorPath,
    SessionPath,
    ShownUserAnswer,
    TokenPath,
    UserPath,
    acting,
    noticed,
    reason_of,
    shown,
    user_of,
)

# The bodies of responses about what belongs to a user.


_Id = Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
_Moment = Annotated[
    str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])
]


class NamedTokenAnswer(TypedDict):
    """A personal access token of a sign-in."""

    id: _Id
    """Its id."""
    name: Annotated[str, Field(examples=["deployment"])]
    """Its name."""


class UserSessionAnswer(TypedDict):
    """A sign-in."""

    id: _Id
    """Its id."""
    kind: Literal["browser", "app"]
    """In a browser, or of an application with tokens."""
    client: Annotated[str | None, Field(examples=["Web shop"])]
    """The name of the application."""
    address: Annotated[str | None, Field(examples=["192.0.2.7"])]
    """The client address of the last use."""
    agent: str | None
    """The header User-Agent of the last use."""
    created: _Moment
    """When the user signed in."""
    last_used: _Moment
    """When it was last used."""
    acr: Annotated[str, Field(examples=["aal2"])]
    """The level of the sign-in."""
    amr: Annotated[list[str], Field(examples=[["pwd", "otp"]])]
    """How the user signed in."""
    auth_time: int | None
    """When the user last proved to be who they are, in Unix seconds."""
    tokens: list[NamedTokenAnswer]
    """The personal access tokens that were created in it."""


@response_body("The sign-ins of a user.")
class UserSessionsAnswer(TypedDict):
    """All of them."""

    data: list[UserSessionAnswer]
    """By the last use; at most 100."""
    next: None
    """There is no next part."""


class UserTokenAnswer(TypedDict):
    """A personal access token, without the token itself."""

    id: _Id
    """Its id."""
    name: Annotated[str, Field(examples=["deployment"])]
    """Its name."""
    scope: Annotated[str, Field(examples=["reports:read"])]
    """What it is for."""
    created: _Moment
    """When it was created."""
    expires: _Moment
    """When it ends."""
    last_used: _Moment | None
    """When it was last used; null: never."""


@response_body("The active personal access tokens of a user.")
class TokensAnswer(TypedDict):
    """All of them."""

    data: list[UserTokenAnswer]
    """The newest first."""
    next: None
    """There is no next part."""


class FactorAnswer(TypedDict):
    """A second factor or passkey."""

    id: _Id
    """Its id."""
    kind: Literal["totp", "passkey"]
    """An authenticator app or a passkey."""
    name: str | None
    """The name of a passkey."""
    created_at: _Moment
    """When it was added."""
    last_used_at: _Moment | None
    """When it was last used; null: never."""


@response_body("The second factors and passkeys of a user.")
class UserFactorsAnswer(TypedDict):
    """All of them."""

    data: list[FactorAnswer]
    """The oldest first."""
    next: None
    """There is no next part."""


class LimitAnswer(TypedDict):
    """A counter."""

    limit: Annotated[str, Field(examples=["login-account"])]
    """The name of the limit."""
    count: int
    """How often it was counted."""
    expires_at: _Moment
    """When it ends."""
    seconds: int
    """How long it still counts."""


@response_body("The limits that count for a user.")
class LimitsAnswer(TypedDict):
    """All of them."""

    data: list[LimitAnswer]
    """Those that count now."""
    next: None
    """There is no next part."""


_USER = "authsite.admin.api.users"
_ERRORS = (UnknownObject, Outranked)
_FACTORS = (*_ERRORS, PermissionMissing("admin:factors:write"))


def _read(name: str, permission: str, **more: Any) -> Callable[[View], View]:
    """The configuration of a view that reads."""
    made: Callable[[View], View] = view_config(
        route_name=f"{_USER}.{name}",
        request_method="GET",
        renderer="json",
        admin=permission,
        **more,
    )
    return made


def _end(
    name: str,
    permission: str,
    *,
    before: Before = judges.reach,
    needs_reason: bool = False,
    **more: Any,
) -> Callable[[View], View]:
    """The configuration of a view that ends something; ``before``: see `of_reason`."""
    made: Callable[[View], View] = view_config(
        route_name=f"{_USER}.{name}",
        request_method="DELETE",
        body=ReasonBody,
        judge=of_reason(before, required=needs_reason),
        admin=permission,
        **more,
    )
    return made


@_read("sessions", "sessions:read")
@Operation(
    "List the sign-ins of a user", {200: UserSessionsAnswer}, path=UserPath, errors=_ERRORS[:1]
)
def sessions(request: Request) -> dict[str, Any]:
    return _whole(request, detail.sessions)


@_end("sessions", "sessions:write")
@Operation(
    "End all sign-ins of a user",
    {204: None},
    path=UserPath,
    errors=(*_ERRORS, TooManyAttempts(60)),
)
def end_sessions(request: Request) -> Response:
    actions.sign_out(*noticed(request), reason_of(request))
    return _done(request)


@_end("session", "sessions:write")
@Operation("End one sign-in of a user", {204: None}, path=SessionPath, errors=_ERRORS)
def end_session(request: Request) -> Response:
    actions.end_session(*acting(request), _part(request, "sid"), reason_of(request))
    return _done(request)


@_read("tokens", "sessions:read")
@Operation(
    "List the personal access tokens of a user",
    {200: TokensAnswer},
    path=UserPath,
    errors=_ERRORS[:1],
)
def tokens(request: Request) -> dict[str, Any]:
    return _whole(request, detail.tokens)


@_end("tokens", "sessions:write")
@Operation(
    "Revoke all personal access tokens of a user", {204: None}, path=UserPath, errors=_ERRORS
)
def revoke_tokens(request: Request) -> Response:
    actions.revoke_tokens(*acting(request), reason_of(request))
    return _done(request)


@_end("token", "sessions:write")
@Operation(
    "Revoke one personal access token of a user", {204: None}, path=TokenPath, errors=_ERRORS
)
def revoke_token(request: Request) -> Response:
    actions.revoke_token(*acting(request), _part(request, "tid"), reason_of(request))
    return _done(request)


@_read("factors", "factors:read")
@Operation(
    "List the second factors and passkeys of a user",
    {200: UserFactorsAnswer},
    path=UserPath,
    errors=_ERRORS[:1],
)
def factors(request: Request) -> dict[str, Any]:
    return _whole(request, detail.factors)


@_end(
    "factors",
    "factors:write",
    before=judges.reach_factors,
    needs_reason=True,
    recent=True,
)
@Operation(
    "Remove all second factors and passkeys of a user",
    {204: None},
    description="As `reset-factors`.",
    path=UserPath,
    errors=_FACTORS,
)
def end_factors(request: Request) -> Response:
    actions.reset_factors(*acting(request), reason_of(request))
    return _done(request)


@view_config(
    route_name=f"{_USER}.reset-factors",
    request_method="POST",
    renderer="json",
    body=ReasonBody,
    judge=of_reason(judges.reach_factors, required=True),
    admin="factors:write",
    recent=True,
)
@Operation(
    "Remove all second factors, passkeys and recovery codes of a user",
    {200: ShownUserAnswer},
    description="All sign-ins end. It needs a `reason`. For members of reserved groups there is "
    "only the command.",
    path=UserPath,
    errors=_FACTORS,
)
def reset_factors(request: Request) -> ShownUserAnswer:
    ctx, by, user = acting(request)
    actions.reset_factors(ctx, by, user, reason_of(request))
    ctx.db.refresh(user)
    return shown(ctx, user)


@_end("factor", "factors:write", before=judges.reach_factors, recent=True)
@Operation(
    "Remove one second factor or passkey of a user",
    {204: None},
    path=FactorPath,
    errors=_FACTORS,
)
def end_factor(request: Request) -> Response:
    actions.remove_factor(*acting(request), _part(request, "fid"), reason_of(request))
    return _done(request)


@_read("limits", "limits:read")
@Operation(
    "List the limits that count for a user",
    {200: LimitsAnswer},
    path=UserPath,
    errors=_ERRORS[:1],
)
def limits(request: Request) -> dict[str, Any]:
    return _whole(request, lambda ctx, user: detail.limits(ctx, user.id))


@_end("limits", "limits:write", needs_reason=True)
@Operation(
    "End the lockouts of a user",
    {204: None},
    description="It needs a `reason`.",
    path=UserPath,
    errors=_ERRORS,
)
def lift_limits(request: Request) -> Response:
    actions.lift_limits(*acting(request), reason_of(request))
    return _done(request)


@_read("mails", "mail:read")
@Operation(
    "List the mails to a user in the last 30 days",
    {200: MailsAnswer},
    headers={200: LINK},
    path=UserPath,
    query=ListQuery,
    errors=(UnknownObject, InvalidCursor),
)
def mails(request: Request) -> dict[str, Any]:
    query, (ctx, by, user) = query_of(request, ListQuery), acting(request)
    found = detail.mails(ctx, by, user, query.limit, query.cursor)
    return answer(request, found, mail_facts)


@_read("events", "audit:read")
@Operation(
    "List the events of a user",
    {200: EventsAnswer},
    headers={200: LINK},
    path=UserPath,
    query=ListQuery,
    errors=(UnknownObject, InvalidCursor),
)
def events(request: Request) -> dict[str, Any]:
    query, ctx = query_of(request, ListQuery), request.authsite.ctx
    wanted, by = Filter(user_id=user_of(request).id), administrator_of(request)
    found = list_events(ctx, by, wanted, query.limit, query.cursor)
    add_link(request, found.next)
    return {"data": event_facts(ctx.db, found.rows), "next": found.next}


@_read("export", "exports:read", recent=True)
@Operation(
    "Export everything that is stored about a user",
    {200: ExportAnswer},
    description="Each export is an event.",
    path=UserPath,
    errors=(*_ERRORS, PermissionMissing("admin:exports:read"), TooManyAttempts(60)),
)
def export(request: Request) -> dict[str, Any]:
    return actions.export_data(*acting(request))


def _whole(
    request: Request, rows: Callable[[Context, User], list[dict[str, Any]]]
) -> dict[str, Any]:
    """A list that is never long."""
    return {"data": rows(request.authsite.ctx, user_of(request)), "next": None}


def _part(request: Request, name: str) -> UUID:
    """The id of what belongs to the user. Raises `UnknownObject`."""
    found = as_id(request.matchdict[name].lower())
    if found is None:
        raise UnknownObject
    return found


def _done(request: Request) -> Response:
    response: Response = request.response
    response.status_int = 204
    return response
