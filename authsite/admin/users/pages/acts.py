"""The confirming pages of the access to an account: sign-ins, tokens, factors, limits, links."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Protocol, TypeVar
from uuid import UUID

from pyramid.response import Response
from sqlalchemy import select

from authsite.account import sessions
from authsite.admin.confirming import OptionalReason, RequiredReason, confirming, done
from authsite.admin.errors import UnknownObject
from authsite.admin.guard import administrator_of
from authsite.admin.users import actions, detail, judges
from authsite.oauth.tokens.families import list_personal
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Consent, Email, MaybeEmpty, Missing
from authsite.platform.http.errors import FieldError
from authsite.platform.i18n import _
from authsite.platform.request_state import Request
from authsite.sign_in.factors import service as factors
from authsite.users import account as agents
from authsite.users.groups.labels import RESERVED, Group, existing_groups_of
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
    listed, _more = sessions.list_active(request.authsite.ctx, user.id, None)
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
    actions.end_session(ctx, by, user, part_of(request, "sid"), request.authsite.validated.reason)
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
    actions.revoke_token(ctx, by, user, part_of(request, "tid"), request.authsite.validated.reason)
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
    actions.revoke_tokens(ctx, by, user, request.authsite.validated.reason)
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
    actions.reset_factors(ctx, by, user, request.authsite.validated.reason)
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
    actions.remove_factor(ctx, by, user, part_of(request, "fid"), request.authsite.validated.reason)
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
    actions.forget_browsers(ctx, by, user, request.authsite.validated.reason)
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
    actions.lift_limits(ctx, by, user, request.authsite.validated.reason)
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
    actions.count_export(request.authsite.ctx, administrator_of(request))
    ctx, by, user = acting(request)
    found = actions.export_data(ctx, by, user, request.authsite.validated.reason)
    response: Response = request.response
    response.content_type, response.charset = "application/json", "utf-8"
    response.content_disposition = f'attachment; filename="user-{user.id}.json"'
    response.text = json.dumps(found, indent=2, ensure_ascii=False)
    return response


# The confirming pages of what changes an account.


MAX_GROUPS = 500
FIELDS = "authsite:templates/admin/users/{}_fields.jinja2"


class ProfileForm(OptionalReason):
    """Name, username and phone number; an empty field removes its value."""

    name: MaybeEmpty = ""
    username: MaybeEmpty = ""
    phone: MaybeEmpty = ""


class EmailForm(RequiredReason):
    """A new e-mail address, and whether it is the user's without a link."""

    email: Annotated[Email, Missing(_("Enter the new e-mail address."))]
    confirmed: Consent | None = None


class DeleteForm(RequiredReason):
    """The address of the user, typed as a confirmation."""

    email: Annotated[Email, Missing(_("Type the e-mail address of the account."))]
    now: Consent | None = None


@confirming(
    "authsite.admin.users.disable",
    RequiredReason,
    admin="users:write",
    ask=ask(
        _("Disable ${user}?"),
        _("Disable"),
        _("All sign-ins and tokens of the user end now, and the user cannot sign in."),
        _("You can enable the user again at any time."),
        notice="anyone",
        ends_role=True,
        reason="required",
        dangerous=True,
    ),
)
def disable(request: Request) -> Response:
    """End all sign-ins and allow no new ones."""
    ctx, by, user = noticed(request)
    actions.disable(ctx, by, user, request.authsite.validated.reason)
    return back(request, user, "disabled")


@confirming(
    "authsite.admin.users.enable",
    admin="users:write",
    ask=ask(
        _("Enable ${user}?"),
        _("Enable"),
        _("The user can sign in again. If the account was to be deleted, it stays."),
        notice="anyone",
    ),
)
def enable(request: Request) -> Response:
    """Let a disabled user sign in again."""
    ctx, by, user = noticed(request)
    actions.enable(ctx, by, user, request.authsite.validated.reason)
    return back(request, user, "enabled")


@confirming(
    "authsite.admin.users.confirm",
    RequiredReason,
    admin="users:write",
    recent=True,
    ask=ask(
        _("Mark the address of ${user} as confirmed?"),
        _("Mark as confirmed"),
        _("The address counts as the user's own: mails go there, and apps trust it."),
        _("Do this only if you know who reads the mailbox."),
        notice="address",
        mentioned=(_("A notice is sent to the address."),),
        reason="required",
    ),
)
def confirm(request: Request) -> Response:
    """Mark the e-mail address as confirmed."""
    ctx, by, user = acting(request)
    actions.confirm(ctx, by, user, request.authsite.validated.reason)
    return back(request, user, "confirmed")


def _changed(request: Request, user: User, given: Any) -> dict[str, Any]:
    """The fields whose texts are not as they were."""
    enabled = request.authsite.settings.login_identifiers
    kinds = ("name", *(each for each in ("username", "phone") if each in enabled))
    texts = {each: getattr(given, each) for each in kinds}
    return {each: text for each, text in texts.items() if text != (getattr(user, each) or "")}


def _judge_profile(request: Request, given: Any) -> Sequence[FieldError]:
    _ctx, _by, user = acting(request)
    return judges.changed(request, given.reason, _changed(request, user, given))


@confirming(
    "authsite.admin.users.profile",
    ProfileForm,
    others=_judge_profile,
    admin="users:write",
    ask=ask(
        _("Change the profile of ${user}"),
        _("Save"),
        _("An empty field removes its value. A former username stays reserved for 180 days."),
        _("Another username or phone number needs a reason."),
        mentioned=(_("${user} gets an e-mail about another username or phone number."),),
        fields=FIELDS.format("profile"),
        names=("name", "username", "phone"),
    ),
)
def change_profile(request: Request) -> Response:
    """Change name, username and phone number: those that are not as they were."""
    ctx, by, user = noticed(request)
    given: ProfileForm = request.authsite.validated
    actions.change_profile(ctx, by, user, given.reason, **_changed(request, user, given))
    return back(request, user, "changed")


@confirming(
    "authsite.admin.users.change-email",
    EmailForm,
    others=judges.email,
    admin="users:write",
    recent=True,
    ask=ask(
        _("Change the e-mail address of ${user}"),
        _("Change the address"),
        _("A link is mailed to the new address; the change happens when it is opened."),
        notice="address",
        mentioned=(
            _("Both addresses get an e-mail. The one to the former address can undo the change."),
        ),
        of_disabled=(
            _("The account is disabled, so no link can be sent: change the address without one."),
        ),
        reason="required",
        fields=FIELDS.format("email"),
        names=("email",),
    ),
)
def change_email(request: Request) -> Response:
    """Change the e-mail address by a link, or at once."""
    ctx, by, user = mailing(request)
    given: EmailForm = request.authsite.validated
    actions.change_email(ctx, by, user, given.email, given.reason, confirmed=bool(given.confirmed))
    return back(request, user, "email-changed" if given.confirmed else "email-asked")


def _deletes_now(request: Request, _user: User) -> Mapping[str, Any]:
    return {"may_now": detail.is_owner(request.authsite.ctx, administrator_of(request))}


@confirming(
    "authsite.admin.users.delete",
    DeleteForm,
    others=judges.removal,
    admin="users:write",
    recent=True,
    ask=ask(
        _("Delete ${user}?"),
        _("Delete the account"),
        _("All sign-ins and tokens end now, and the user cannot sign in."),
        _("In 7 days the account and its data are erased for good. Until then you can enable it."),
        notice="anyone",
        ends_role=True,
        reason="required",
        dangerous=True,
        fields=FIELDS.format("delete"),
        names=("email",),
        values=_deletes_now,
    ),
)
def delete(request: Request) -> Response:
    """Delete the user, in seven days or now."""
    ctx, by, user = noticed(request)
    given: DeleteForm = request.authsite.validated
    if actions.delete(ctx, by, user, given.reason, given.email, now=bool(given.now)) is None:
        return done(request, route_path(request, "authsite.admin.users"), "erased")
    return back(request, user, "deleted")


def _groups(request: Request, user: User) -> Mapping[str, Any]:
    """The groups to choose from: the reserved ones, the user's, and the first of the others."""
    db = request.authsite.ctx.db
    present = set(existing_groups_of(db, user.id))
    query = select(Group.name, Group.title).order_by(Group.name)
    rows = [
        *db.execute(query.limit(MAX_GROUPS)),
        *db.execute(query.where(Group.name.in_(present))),
    ]
    reserved = {name: group.title for name, group in RESERVED.items()}
    return {
        "all_groups": reserved | {row.name: row.title for row in rows},
        "present": present,
        "account": actions.account_shown(user),
    }


@confirming(
    "authsite.admin.users.groups",
    admin="groups:write",
    recent=True,
    ask=ask(
        _("Groups of ${user}"),
        _("Save the groups"),
        _("The user may do what the chosen groups allow, from the next request."),
        _("Tokens end that carry a permission which the user loses."),
        ends_role=True,
        fields=FIELDS.format("groups"),
        values=_groups,
    ),
)
def set_groups(request: Request) -> Response:
    """Make the chosen groups those of the user."""
    ctx, by, user = noticed(request)
    given: OptionalReason = request.authsite.validated
    prefix = "group:"
    chosen = {
        name.removeprefix(prefix)
        for name, value in request.authsite.raw_form.items()
        if name.startswith(prefix) and value
    }
    text = request.authsite.raw_form.get("shown")
    shown = None if text is None else text.removeprefix("=").split()
    account = request.authsite.raw_form.get("account")
    actions.set_groups(ctx, by, user, chosen, given.reason, shown=shown, account=account)
    return back(request, user, "groups-changed")
