"""/admin/invitations"""

from typing import Annotated, Any

from pyramid.response import Response
from pyramid.view import view_config

from authsite.admin.confirming import Confirmation, OptionalReason, confirming, done
from authsite.admin.guard import administrator_of
from authsite.admin.lists import DEFAULT_LIMIT
from authsite.platform.addresses import shown
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Email, MaybeEmpty, Missing
from authsite.platform.i18n import _
from authsite.platform.request_state import Request
from authsite.users import service as users

from . import judges, service
from .service import require_recent_for

LIST = "authsite:templates/admin/invitations/list.jinja2"
FIELDS = "authsite:templates/admin/invitations/new_fields.jinja2"
_ROUTE = "authsite.admin.invitations"


class InviteForm(OptionalReason):
    """Who is invited."""

    email: Annotated[Email, Missing(_("Enter the e-mail address of the person."))]
    group: MaybeEmpty | None = None


@view_config(route_name=_ROUTE, request_method="GET", renderer=LIST, admin="invitations:write")
def list_invitations(request: Request) -> dict[str, Any]:
    """The open invitations, the newest first."""
    ctx, by = request.authsite.ctx, administrator_of(request)
    page = service.some(ctx, by, DEFAULT_LIMIT, request.GET.get("cursor"))
    inviters = [row.inviter_id for row in page.rows if row.inviter_id]
    return {
        "page_of_list": page,
        "inviters": users.emails(ctx.db, inviters) if inviters else {},
        "open": request.authsite.settings.invitations_open,
    }


def ask_new(request: Request) -> Confirmation:
    """The form with the address and the group."""
    choice = service.groups_to_choose(request.authsite.ctx, administrator_of(request))
    return Confirmation(
        title=_("Invite a person"),
        effects=[
            _("The person gets a link by e-mail, which works once, for seven days."),
            _("It creates an account with this address, also where no one can register otherwise."),
            _("A person who has an account with the address joins the group with it."),
        ],
        notices=[_("You are not told whether there is an account.")],
        button=_("Invite"),
        back=_back(request),
        fields=FIELDS,
        names=("email", "group"),
        values={"choice": choice},
    )


@confirming(
    f"{_ROUTE}.new",
    InviteForm,
    ask=ask_new,
    others=judges.new_on_page,
    admin="invitations:write",
)
def invite(request: Request) -> Response:
    """Invite the owner of an address."""
    given: InviteForm = request.authsite.validated
    ctx, by = request.authsite.ctx, administrator_of(request)
    require_recent_for(request, given.group, confirming=True)
    service.invite(ctx, by, given.email, given.group or None, given.reason)
    return done(request, _back(request), "invited")


def ask_resend(request: Request) -> Confirmation:
    """What another mail does."""
    return Confirmation(
        title=_about(request, _("Send the invitation to ${email} again?")),
        effects=[_("The link in the former e-mail ends. The new one works for seven days.")],
        notices=[_("The invited person gets the e-mail.")],
        button=_("Send again"),
        back=_back(request),
    )


@confirming(f"{_ROUTE}.resend", ask=ask_resend, admin="invitations:write")
def resend(request: Request) -> Response:
    """Mail an invitation again."""
    ctx, by, given = request.authsite.ctx, administrator_of(request), request.authsite.validated
    service.resend(ctx, by, request.matchdict["id"], given.reason)
    return done(request, _back(request), "resent")


def ask_revoke(request: Request) -> Confirmation:
    """What revoking does."""
    return Confirmation(
        title=_about(request, _("Revoke the invitation to ${email}?")),
        effects=[_("Its link ends now. You can invite the person again.")],
        button=_("Revoke"),
        back=_back(request),
        dangerous=True,
    )


@confirming(f"{_ROUTE}.revoke", ask=ask_revoke, admin="invitations:write")
def revoke(request: Request) -> Response:
    """End an invitation."""
    ctx, by, given = request.authsite.ctx, administrator_of(request), request.authsite.validated
    service.revoke(ctx, by, request.matchdict["id"], given.reason)
    return done(request, _back(request), "revoked")


def _about(request: Request, text: Any) -> str:
    """``text`` with the address of the open invitation. Raises `UnknownInvitation`."""
    email = service.find(request.authsite.ctx, request.matchdict["id"]).email
    filled: str = text % {"email": shown(email)}
    return filled


def _back(request: Request) -> str:
    return route_path(request, _ROUTE)
