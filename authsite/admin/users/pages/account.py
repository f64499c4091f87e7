"""The confirming pages of what changes an account."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pyramid.response import Response
from sqlalchemy import select

from authsite.admin.confirming import OptionalReason, RequiredReason, confirming, done
from authsite.admin.guard import administrator_of
from authsite.admin.users import actions, deletion, judges, memberships, subject
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Consent, Email, MaybeEmpty, Missing
from authsite.platform.http.errors import FieldError
from authsite.platform.i18n import _
from authsite.platform.request_state import Request
from authsite.users.groups.groups_of_user import existing_groups_of
from authsite.users.groups.models import Group
from authsite.users.groups.reserved import RESERVED
from authsite.users.models import User

from .asking import acting, ask, back, mailing, noticed

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
    return {"may_now": subject.is_owner(request.authsite.ctx, administrator_of(request))}


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
    if deletion.delete(ctx, by, user, given.reason, given.email, now=bool(given.now)) is None:
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
        "account": memberships.account_shown(user),
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
    memberships.set_groups(ctx, by, user, chosen, given.reason, shown=shown, account=account)
    return back(request, user, "groups-changed")
