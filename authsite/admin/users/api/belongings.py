"""What belongs to a user: sign-ins, tokens, factors, limits, mails, events, all stored data."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from pyramid.response import Response
from pyramid.view import view_config

from authsite.account.bodies import ExportAnswer
from authsite.admin.audit.api import EventsAnswer
from authsite.admin.audit.rows import facts as event_facts
from authsite.admin.audit.service import list_events
from authsite.admin.bodies import ReasonBody
from authsite.admin.errors import InvalidCursor, Outranked, PermissionMissing, UnknownObject
from authsite.admin.guard import administrator_of
from authsite.admin.judges import Before, of_reason
from authsite.admin.mail.api import MailsAnswer
from authsite.admin.queries import LINK, ListQuery, add_link, answer, query_of
from authsite.admin.users import access, actions, detail, judges
from authsite.platform.audit.service import Filter
from authsite.platform.context import Context
from authsite.platform.http.api_metadata import Operation, View
from authsite.platform.mail.listed import facts as mail_facts
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.users.models import User

from .accounts import acting, noticed, reason_of, user_of
from .belonging_bodies import FactorsAnswer, LimitsAnswer, SessionsAnswer, TokensAnswer
from .bodies import FactorPath, SessionPath, ShownUserAnswer, TokenPath, UserPath, shown

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
@Operation("List the sign-ins of a user", {200: SessionsAnswer}, path=UserPath, errors=_ERRORS[:1])
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
    access.end_session(*acting(request), _part(request, "sid"), reason_of(request))
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
    access.revoke_tokens(*acting(request), reason_of(request))
    return _done(request)


@_end("token", "sessions:write")
@Operation(
    "Revoke one personal access token of a user", {204: None}, path=TokenPath, errors=_ERRORS
)
def revoke_token(request: Request) -> Response:
    access.revoke_token(*acting(request), _part(request, "tid"), reason_of(request))
    return _done(request)


@_read("factors", "factors:read")
@Operation(
    "List the second factors and passkeys of a user",
    {200: FactorsAnswer},
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
    access.reset_factors(*acting(request), reason_of(request))
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
    access.reset_factors(ctx, by, user, reason_of(request))
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
    access.remove_factor(*acting(request), _part(request, "fid"), reason_of(request))
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
    access.lift_limits(*acting(request), reason_of(request))
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
    return access.export_data(*acting(request))


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
