"""The confirming pages of the access to an account: sign-ins, tokens, factors, limits, links."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar
from uuid import UUID

from pyramid.response import Response

from authsite.account import active_sessions
from authsite.admin.confirming import OptionalReason, RequiredReason, confirming
from authsite.admin.errors import UnknownObject
from authsite.admin.guard import administrator_of
from authsite.admin.users import access, actions
from authsite.oauth.listed import list_personal
from authsite.platform.i18n import _
from authsite.platform.request_state import Request
from authsite.sign_in.factors import service as factors
from authsite.users import agents
from authsite.users.models import User

from .asking import acting, ask, back, mailing, noticed, part_of

PART = "authsite:templates/admin/users/part_fields.jinja2"


class _Part(Protocol):
    @property
    def id(self) -> UUID: ...


_P = TypeVar("_P", bound=_Part)


def _one(request: Request, name: str, parts: Iterable[_P]) -> _P:
    """The part of a user that the path names. Raises `UnknownObject`."""
    wanted = part_of(request, name)
    found = next((each for each in parts if each.id == wanted), None)
    if found is None:
        raise UnknownObject
    return found


def _session(request: Request, user: User) -> Mapping[str, Any]:
    listed, _more = active_sessions.list_active(request.authsite.ctx, user.id, None)
    return {"session": _one(request, "sid", listed), "program": agents.describe}


def _token(request: Request, user: User) -> Mapping[str, Any]:
    listed = list_personal(request.authsite.ctx, user.id)
    return {"token": _one(request, "tid", listed)}


def _factor(request: Request, user: User) -> Mapping[str, Any]:
    found = factors.overview(request.authsite.ctx, user.id)
    all_: list[_Part] = [*found.passkeys, *([found.totp] if found.totp else [])]
    return {"factor": _one(request, "fid", all_)}


@confirming(
    "authsite.admin.users.sign-out",
    admin="sessions:write",
    ask=ask(
        _("End all sign-ins of ${user}?"),
        _("End all sign-ins"),
        _("The user is signed out in every browser and app. All tokens end."),
    ),
)
def sign_out(request: Request) -> Response:
    """End all sign-ins and tokens."""
    ctx, by, user = noticed(request)
    actions.sign_out(ctx, by, user, request.authsite.validated.reason)
    return back(request, user, "signed-out")


@confirming(
    "authsite.admin.users.session",
    admin="sessions:write",
    ask=ask(
        _("End a sign-in of ${user}?"),
        _("End the sign-in"),
        _("The user is signed out there. Personal access tokens that were created in it end, too."),
        notice="none",
        fields=PART,
        values=_session,
    ),
)
def end_session(request: Request) -> Response:
    """End one sign-in."""
    ctx, by, user = acting(request)
    access.end_session(ctx, by, user, part_of(request, "sid"), request.authsite.validated.reason)
    return back(request, user, "session-ended")


@confirming(
    "authsite.admin.users.token",
    admin="sessions:write",
    ask=ask(
        _("Revoke a personal access token of ${user}?"),
        _("Revoke"),
        _("The program that uses the token is rejected from now on."),
        fields=PART,
        values=_token,
    ),
)
def revoke_token(request: Request) -> Response:
    """Revoke one personal access token."""
    ctx, by, user = acting(request)
    access.revoke_token(ctx, by, user, part_of(request, "tid"), request.authsite.validated.reason)
    return back(request, user, "token-revoked")


@confirming(
    "authsite.admin.users.tokens",
    admin="sessions:write",
    ask=ask(
        _("Revoke all personal access tokens of ${user}?"),
        _("Revoke all"),
        _("The programs that use the tokens are rejected from now on."),
    ),
)
def revoke_tokens(request: Request) -> Response:
    """Revoke all personal access tokens."""
    ctx, by, user = acting(request)
    access.revoke_tokens(ctx, by, user, request.authsite.validated.reason)
    return back(request, user, "token-revoked")


@confirming(
    "authsite.admin.users.reset-factors",
    RequiredReason,
    admin="factors:write",
    recent=True,
    ask=ask(
        _("Reset the second factors of ${user}?"),
        _("Reset the factors"),
        _("All second factors, passkeys and recovery codes are removed."),
        _("All sign-ins end. The next sign-in needs the password alone."),
        reason="required",
        dangerous=True,
    ),
)
def reset_factors(request: Request) -> Response:
    """Remove all second factors, passkeys and recovery codes."""
    ctx, by, user = acting(request)
    access.reset_factors(ctx, by, user, request.authsite.validated.reason)
    return back(request, user, "factors-reset")


@confirming(
    "authsite.admin.users.factor",
    RequiredReason,
    admin="factors:write",
    recent=True,
    ask=ask(
        _("Remove a second factor of ${user}?"),
        _("Remove"),
        _("It is removed at once. The others stay, and no sign-in ends."),
        _("After the last one, the next sign-in needs the password alone."),
        reason="required",
        dangerous=True,
        fields=PART,
        values=_factor,
    ),
)
def remove_factor(request: Request) -> Response:
    """Remove one second factor or passkey."""
    ctx, by, user = acting(request)
    access.remove_factor(ctx, by, user, part_of(request, "fid"), request.authsite.validated.reason)
    return back(request, user, "factor-removed")


@confirming(
    "authsite.admin.users.forget-browsers",
    admin="factors:write",
    ask=ask(
        _("Forget the remembered browsers of ${user}?"),
        _("Forget the browsers"),
        _("Each browser asks for the second factor again at the next sign-in."),
        notice="none",
    ),
)
def forget_browsers(request: Request) -> Response:
    """Ask for the second factor again in every browser."""
    ctx, by, user = acting(request)
    access.forget_browsers(ctx, by, user, request.authsite.validated.reason)
    return back(request, user, "browsers-forgotten")


@confirming(
    "authsite.admin.users.lift-limits",
    RequiredReason,
    admin="limits:write",
    ask=ask(
        _("Lift the limits of ${user}?"),
        _("Lift the limits"),
        _("A lockout ends, and attempts are counted from zero."),
        notice="none",
        reason="required",
    ),
)
def lift_limits(request: Request) -> Response:
    """End the lockouts of the user."""
    ctx, by, user = acting(request)
    access.lift_limits(ctx, by, user, request.authsite.validated.reason)
    return back(request, user, "limits-lifted")


@confirming(
    "authsite.admin.users.reset-password",
    admin="mail:write",
    ask=ask(
        _("Mail ${user} a link to reset the password?"),
        _("Send the link"),
        _("The link goes to the user alone. You do not see it, nor the password."),
        notice="link",
    ),
)
def send_reset(request: Request) -> Response:
    """Mail a link that resets the password."""
    ctx, by, user = mailing(request)
    actions.send_reset(ctx, by, user, request.authsite.validated.reason)
    return back(request, user, "reset-sent")


@confirming(
    "authsite.admin.users.send-verification",
    admin="mail:write",
    ask=ask(
        _("Mail ${user} a link to confirm the address?"),
        _("Send the link"),
        _("The link goes to the address that is to be confirmed. You do not see it."),
        notice="link",
    ),
)
def send_verification(request: Request) -> Response:
    """Mail a link that confirms the address."""
    ctx, by, user = mailing(request)
    actions.send_verification(ctx, by, user, request.authsite.validated.reason)
    return back(request, user, "verification-sent")


@confirming(
    "authsite.admin.users.export",
    OptionalReason,
    admin="exports:read",
    recent=True,
    ask=ask(
        _("Download the data of ${user}?"),
        _("Download"),
        _("The file has everything that is stored about the user. Treat it as confidential."),
        notice="none",
    ),
)
def export(request: Request) -> Response:
    """Everything that is stored about the user, as a file."""
    access.count_export(request.authsite.ctx, administrator_of(request))
    ctx, by, user = acting(request)
    found = access.export_data(ctx, by, user, request.authsite.validated.reason)
    response: Response = request.response
    response.content_type, response.charset = "application/json", "utf-8"
    response.content_disposition = f'attachment; filename="user-{user.id}.json"'
    response.text = json.dumps(found, indent=2, ensure_ascii=False)
    return response
