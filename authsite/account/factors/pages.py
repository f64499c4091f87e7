"""The section of second factors on the account pages, its forms, and the pages that add one."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from pyramid.response import Response
from pyramid.view import view_config

from authsite.account import judges
from authsite.account.passkeys import service as passkeys_service
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Body, CurrentPassword, Flag, MailCode, Missing
from authsite.platform.http.forms import PageView, form_view
from authsite.platform.http.rendering import found, go_on, page_path
from authsite.platform.http.return_to import forget_next
from authsite.platform.i18n import _
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.sign_in.factors import pages as banner
from authsite.sign_in.factors import policy
from authsite.sign_in.factors import service as factors
from authsite.sign_in.factors.errors import InvalidEnrollment
from authsite.sign_in.factors.pages import show_codes
from authsite.sign_in.factors.policy import PASSKEY
from authsite.sign_in.methods.mail_code.pages import send_to_session
from authsite.sign_in.methods.passkeys import changes, registration
from authsite.sign_in.methods.passkeys.registration import MAX_SIZE
from authsite.sign_in.methods.passkeys.stored import MAX_NAME
from authsite.sign_in.methods.totp import enrollment as totp
from authsite.sign_in.reauthentication import ProofFields
from authsite.sign_in.sessions import cookies
from authsite.users.account import SignedInUser
from authsite.users.account_pages import (
    AccountSection,
    account_form,
    back,
    common_values,
    page_of,
    show,
)
from authsite.users.caller import caller_of

from . import service
from .service import Changed, apps_with_password

if TYPE_CHECKING:
    from pyramid.config import Configurator


ADD = "authsite:templates/account/factor.jinja2"
CHOOSE = "authsite:templates/account/choose_factor.jinja2"
SECURITY = "authsite.account.security"
TOTP = "authsite.account.factors.totp"


# A user who has to add a second factor can do so.
OPEN_ROUTES = {
    "": "",
    ".later": "/later",
    ".totp": "/totp",
    ".totp.mail": "/totp/mail",
    ".totp.confirm": "/totp/confirm",
    ".passkeys": "/passkeys",
    ".passkeys.mail": "/passkeys/mail",
    ".passkeys.add": "/passkeys/add",
    ".remaining": "/remaining/{token}",
    ".remaining.remove": "/remaining/{token}/{id}/remove",
}
ROUTES = {
    ".totp.remove": "/totp/remove",
    ".passkeys.rename": "/passkeys/{id}/name",
    ".passkeys.remove": "/passkeys/{id}/remove",
    ".codes": "/codes",
    ".after_password": "/after-password",
    ".browsers": "/browsers",
}


def add_routes(config: "Configurator") -> None:
    """The routes of these pages and forms, and of those in `passkey_pages`."""
    for routes, is_open in ((OPEN_ROUTES, True), (ROUTES, False)):
        for name, path in routes.items():
            route, pattern = f"authsite.account.factors{name}", f"/account/factors{path}"
            config.add_route(route, pattern, guard="web", unenrolled=is_open)


class ProofForm(Body):
    """The proof of the user."""

    current_password: CurrentPassword = None
    mail_code: MailCode = None


class ConfirmForm(Body):
    """The first code of an authenticator app.

    ``asked``: the form had a box for ``end_others``. Of a box that is not ticked a browser sends
    nothing.
    """

    enrollment: Annotated[str, Field(max_length=1024)] = ""
    code: Annotated[str, Field(max_length=64)] = ""
    asked: Flag | None = None
    end_others: Flag | None = None


class AfterPasswordForm(ProofForm):
    """Whether a passkey is asked for after the password, too."""

    after_password: Flag


def values(request: Request) -> dict[str, Any]:
    """The factors of the user, and what the settings let them add."""
    ctx, user = request.authsite.ctx, caller_of(request).signed_in_user()
    return {
        "factors": factors.overview(ctx, user.account.id),
        "may_add": kinds_to_add(request),
        "signals": changes.signals(ctx, user.account),
    }


SECTION = AccountSection(
    "factors",
    "authsite:templates/account/factors.jinja2",
    "account.security",
    values,
    after="password",
)


def kinds_to_add(request: Request) -> tuple[str, ...]:
    """The kinds of factors that the settings let users add."""
    ctx = request.authsite.ctx
    offered = {
        policy.TOTP: totp.is_offered(ctx),
        policy.PASSKEY: registration.can_add(ctx),
    }
    return tuple(kind for kind, is_offered in offered.items() if is_offered)


def show_as(form: str) -> PageView:
    """The account page after a mistake in one of its forms, which the template calls ``form``."""

    def show_again(request: Request) -> dict[str, Any]:
        shown, which = show(request), form.format(**request.matchdict)
        # The error of a form that the page does not show is above all sections.
        return {**shown, "which": which if which in _forms(shown["factors"]) else None}

    return show_again


def _forms(found: factors.Overview) -> set[str]:
    """The forms that the page shows for a user with these factors."""
    shown = {f"passkey-{what}-{each.id}" for each in found.passkeys for what in ("name", "remove")}
    if found.totp:
        shown.add("factors-totp")
    if found.passkeys:
        shown.add("factors-after-password")
    if found.totp or found.passkeys or found.codes:
        shown.add("factors-codes")
    return shown


def adding(request: Request, kind: str) -> dict[str, Any]:
    """The first step of adding a factor: what the page asks for."""
    ctx, user = request.authsite.ctx, caller_of(request).signed_in_user()
    overview = factors.overview(ctx, user.account.id)
    needs_code = service.needs_mail_code(ctx, user)
    first = overview.totp is None and not overview.passkeys
    return {
        **common_values(request, page_of(request)),
        "kind": kind,
        "enrollment": None,
        "passkey_options": None,
        "replaces": kind == policy.TOTP and overview.totp is not None,
        "first": first,
        "needs_code": needs_code,
        "unconfirmed": needs_code and not user.account.confirmed,
        "code_sent": False,
        "clients": apps_with_password(ctx, user.account.id) if first else [],
    }


totp_page = partial(adding, kind=policy.TOTP)


def confirm_page(request: Request) -> dict[str, Any]:
    """The second step after a wrong code, with the same secret; the first one if it has expired."""
    shown, ctx, user = totp_page(request), request.authsite.ctx, _user(request)
    given = request.authsite.form_data.get("enrollment", "")
    try:
        again = totp.shown_again(ctx, user.account, service.session_id(user), given)
    except InvalidEnrollment:
        return shown
    return {**shown, "enrollment": again}


def to_totp(request: Request) -> Response:
    """Redirect the path of a form to its page."""
    return found(request, page_path(request, TOTP.removeprefix("authsite.")))


@view_config(route_name="authsite.account.factors", request_method="GET", renderer=CHOOSE)
def choose(request: Request) -> dict[str, Any]:
    """The choice of a second factor, for a user who needs one."""
    return {**common_values(request, page_of(request)), **values(request)}


@form_view(TOTP, ProofForm, show=totp_page, renderer=ADD)
def begin_totp(request: Request) -> dict[str, Any]:
    """Check the proof, and show a new secret."""
    given = ProofFields.of(request.authsite.validated)
    begun = service.begin_totp(request.authsite.ctx, _user(request), given)
    return {**totp_page(request), "enrollment": begun}


@form_view(f"{TOTP}.mail", ProofForm, show=totp_page, get=to_totp, renderer=ADD)
def mail_for_totp(request: Request) -> dict[str, Any]:
    """Mail the code that the page asks for."""
    mail_code(request)
    return {**totp_page(request), "code_sent": True}


@form_view(f"{TOTP}.confirm", ConfirmForm, show=confirm_page, get=to_totp, renderer=ADD)
def confirm_totp(request: Request) -> Response:
    """Store the authenticator app, and show the recovery codes that came with it."""
    given: ConfirmForm = request.authsite.validated
    changed = service.confirm_totp(
        request.authsite.ctx, _user(request), given.enrollment, given.code, ends_others(given)
    )
    return after_adding(request, changed, "totp")


@account_form(f"{TOTP}.remove", ProofForm, show=show_as("factors-totp"))
def remove_totp(request: Request) -> Response:
    """Remove the authenticator app."""
    given = ProofFields.of(request.authsite.validated)
    service.remove_totp(request.authsite.ctx, _user(request), given)
    return back(request, "totp-removed")


@account_form("authsite.account.factors.codes", ProofForm, show=show_as("factors-codes"))
def make_codes(request: Request) -> Response:
    """Show new recovery codes, once."""
    given = ProofFields.of(request.authsite.validated)
    made = service.make_codes(request.authsite.ctx, _user(request), given)
    return show_codes(request, made, route_path(request, SECURITY), added=False)


@account_form(
    "authsite.account.factors.after_password",
    AfterPasswordForm,
    show=show_as("factors-after-password"),
    judge=judges.factors,
)
def ask_after_password(request: Request) -> Response:
    """Whether a passkey is asked for after the password, too."""
    given: AfterPasswordForm = request.authsite.validated
    service.ask_after_password(
        request.authsite.ctx, _user(request), given.after_password, ProofFields.of(given)
    )
    return back(request, "after-password")


@account_form("authsite.account.factors.later")
def put_off(request: Request) -> Response:
    """Do not ask for a second factor for a day: the policy does not require one yet."""
    banner.put_off(request)
    target = request.authsite.next or route_path(request, "authsite.account")
    forget_next(request)
    return go_on(request, target)


@account_form("authsite.account.factors.browsers")
def forget_browsers(request: Request) -> Response:
    """Ask for the second factor again in every browser."""
    service.forget_browsers(request.authsite.ctx, _user(request))
    return back(request, "browsers")


def ends_others(given: Any) -> bool | None:
    """Whether the other sign-ins end: as the box says, or by default where there was none."""
    return bool(given.end_others) if given.asked else None


def after_adding(request: Request, changed: Changed, done: str) -> Response:
    """Show the recovery codes that were made, or lead on."""
    cookies.renew_session(request, changed.renewed)
    target = request.authsite.next
    forget_next(request)
    if changed.recovery_codes:
        onward = target or route_path(request, SECURITY)
        return show_codes(request, changed.recovery_codes, onward, added=True)
    return go_on(request, target) if target else back(request, done)


def mail_code(request: Request) -> None:
    """Mail a code to the user, if adding a factor needs one."""
    ctx, user = request.authsite.ctx, _user(request)
    if service.needs_mail_code(ctx, user):
        send_to_session(ctx, user)


def _user(request: Request) -> SignedInUser:
    return caller_of(request).signed_in_user()


# The pages and forms of passkeys on the account pages.


PASSKEYS = "authsite.account.factors.passkeys"


class PasskeyForm(Body):
    """A new passkey, which the page's script has made; see `ConfirmForm` about ``asked``."""

    credential: Annotated[
        str, Field(min_length=1, max_length=MAX_SIZE), Missing(_("Passkeys need JavaScript."))
    ]
    name: Annotated[str, Field(max_length=MAX_NAME)] | None = None
    asked: Flag | None = None
    end_others: Flag | None = None


class NameForm(Body):
    """The name of a passkey."""

    name: Annotated[
        str, Field(min_length=1, max_length=MAX_NAME), Missing(_("Enter a name for the passkey."))
    ]


passkey_page = partial(adding, kind=PASSKEY)


def to_passkeys(request: Request) -> Response:
    """Redirect the path of a form to its page."""
    return found(request, page_path(request, PASSKEYS.removeprefix("authsite.")))


@form_view(PASSKEYS, ProofForm, show=passkey_page, renderer=ADD)
def begin_passkey(request: Request) -> dict[str, Any]:
    """Check the proof, and show the button with which the browser makes a passkey."""
    given = ProofFields.of(request.authsite.validated)
    user = caller_of(request).signed_in_user()
    options = passkeys_service.begin(request.authsite.ctx, user, given)
    return {**passkey_page(request), "passkey_options": options}


@form_view(f"{PASSKEYS}.mail", ProofForm, show=passkey_page, get=to_passkeys, renderer=ADD)
def mail_for_passkey(request: Request) -> dict[str, Any]:
    """Mail the code that the page asks for."""
    mail_code(request)
    return {**passkey_page(request), "code_sent": True}


@form_view(f"{PASSKEYS}.add", PasskeyForm, show=passkey_page, get=to_passkeys, renderer=ADD)
def add_passkey(request: Request) -> Response:
    """Store the passkey; the recovery codes that are made with a first factor are shown."""
    given: PasskeyForm = request.authsite.validated
    user = caller_of(request).signed_in_user()
    _row, changed = passkeys_service.add(
        request.authsite.ctx,
        user,
        given.credential,
        given.name,
        ends_others(given),
    )
    return after_adding(request, changed, "passkey")


@account_form(f"{PASSKEYS}.rename", NameForm, show=show_as("passkey-name-{id}"))
def rename_passkey(request: Request) -> Response:
    """Give a passkey another name."""
    user_id = caller_of(request).acting_user().id
    wanted, name = as_id(request.matchdict["id"]), request.authsite.validated.name
    changes.rename(request.authsite.ctx, user_id, wanted, name)
    return back(request, "passkey-renamed")


@account_form(f"{PASSKEYS}.remove", ProofForm, show=show_as("passkey-remove-{id}"))
def remove_passkey(request: Request) -> Response:
    """Remove a passkey."""
    user, wanted = caller_of(request).signed_in_user(), as_id(request.matchdict["id"])
    passkeys_service.remove(
        request.authsite.ctx, user, wanted, ProofFields.of(request.authsite.validated)
    )
    return back(request, "passkey-removed")
