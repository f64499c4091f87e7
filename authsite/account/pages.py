"""The account pages: `sections` has the sections of this package, `forms` their forms."""

import json
import re
from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.account import judges, not_me, service
from authsite.account import sessions as account_sessions
from authsite.account.api import DeleteBody, ExportBody, PasswordBody, ProfileBody
from authsite.platform.http import bodies, languages
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import (
    Body,
    CurrentPassword,
    Email,
    Flag,
    MailCode,
    Missing,
    Password,
    Token,
)
from authsite.platform.http.forms import link_view, password_check, rating
from authsite.platform.http.rendering import found, home_path, see_other
from authsite.platform.i18n import _, own_name
from authsite.platform.mail.outbox import Recipient
from authsite.platform.rate_limit import device_cookie
from authsite.platform.request_state import Request
from authsite.recovery import service as recovery
from authsite.sign_in.fields import address_hint
from authsite.sign_in.known_address import keep_address
from authsite.sign_in.reauthentication import ProofFields
from authsite.sign_in.sessions import cookies
from authsite.users import former
from authsite.users.account_pages import (
    PAGE,
    AccountSection,
    account_form,
    back,
    common_values,
    page_of,
    show,
    values_of_deletion,
)
from authsite.users.caller import caller_of
from authsite.verification import email_change
from authsite.verification import service as verification
from authsite.verification.mails import has_link
from authsite.verification.pages import token_form, token_page

# The sections of this package, and what their templates read.


TEMPLATES = "authsite:templates/account/"


def email(request: Request) -> dict[str, Any]:
    """The pending change of address, and whether a link to confirm the present one was mailed."""
    ctx, user = request.authsite.ctx, caller_of(request).acting_user()
    change = former.find_pending(ctx.db, user.id)
    waits = change is None and not user.confirmed
    return {
        "pending_email": change and change.email,
        "pending_by_link": change is not None and change.by_link,
        "restorable": former.list_first(ctx.db, user.id),
        "address_hint": address_hint(request.authsite.settings),
        "link_sent": waits and has_link(ctx.db, Recipient(user.id, user.email)),
    }


def language(request: Request) -> dict[str, Any]:
    """The language of the user's mails, and those to choose from."""
    offered = request.authsite.settings.languages
    return {
        "mail_language": service.language_of(
            request.authsite.ctx, caller_of(request).acting_user().id
        ),
        "offered_languages": [(each, own_name(each)) for each in offered],
    }


def sessions(request: Request) -> dict[str, Any]:
    """Where the user is signed in."""
    caller = caller_of(request)
    found, more = account_sessions.list_active(
        request.authsite.ctx, caller.acting_user().id, caller.session_uuid
    )
    return {"sessions": found, "more_sessions": more}


def latest_events(request: Request) -> dict[str, Any]:
    """The latest events of the account, and the latest failed attempts."""
    found = account_sessions.list_latest(request.authsite.ctx, caller_of(request).acting_user().id)
    return {"events": found, "by_day": account_sessions.by_day}


SECTIONS = (
    AccountSection("profile", f"{TEMPLATES}profile.jinja2", "account"),
    AccountSection("email", f"{TEMPLATES}email.jinja2", "account", email),
    AccountSection("language", f"{TEMPLATES}language.jinja2", "account", language),
    AccountSection("export", f"{TEMPLATES}export.jinja2", "account"),
    AccountSection("delete", f"{TEMPLATES}delete.jinja2", "account", values_of_deletion),
    AccountSection("password", f"{TEMPLATES}password.jinja2", "account.security"),
    AccountSection(
        "sessions",
        f"{TEMPLATES}sessions.jinja2",
        "account.security",
        sessions,
        deleted=f"{TEMPLATES}deleted_sessions.jinja2",
    ),
    AccountSection("activity", f"{TEMPLATES}activity.jinja2", "account.security", latest_events),
)
"""The sections of this package, page by page."""


# The views of the account pages, and the page with all events.


ACTIVITY = "authsite:templates/account/all_activity.jinja2"
_PAGE_NUMBER = re.compile(r"[1-9][0-9]{0,5}")


@view_config(route_name="authsite.account", request_method="GET", renderer=PAGE)
@view_config(route_name="authsite.account.security", request_method="GET", renderer=PAGE)
@view_config(route_name="authsite.account.access", request_method="GET", renderer=PAGE)
def show_page(request: Request) -> dict[str, Any]:
    """An account page."""
    return show(request)


@view_config(route_name="authsite.account.activity", request_method="GET", renderer=ACTIVITY)
def show_activity(request: Request) -> dict[str, Any]:
    """All events of the account, ``page`` after page."""
    number = _number(request.GET.get("page", ""))
    events, more = account_sessions.list_page(
        request.authsite.ctx, caller_of(request).acting_user().id, number
    )
    listed = {"events": events, "number": number, "more": more, "by_day": account_sessions.by_day}
    return {**common_values(request, page_of(request)), **listed}


def _number(text: str) -> int:
    return min(int(text), account_sessions.MAX_PAGES) if _PAGE_NUMBER.fullmatch(text) else 1


# The forms of the account pages. Each posts to its own path and redirects back to its page.


NOT_ME = "authsite:templates/account/not_me.jinja2"


class EmailForm(Body):
    """A new e-mail address."""

    email: Annotated[Email, Missing(_("Enter your new e-mail address."))]
    current_password: CurrentPassword = None
    mail_code: MailCode = None


class EndSessionForm(Body):
    """Whether the tokens that were created in a session are revoked with it.

    ``asked``: the form had a box for this. Of a box that is not ticked a browser sends nothing.
    """

    asked: Flag | None = None
    revoke_tokens: Flag | None = None


class NewPassword(Body):
    """A password that is being typed."""

    password: Password


class NotMeForm(Body):
    """The token of a link "This was not me", and the new password."""

    token: Token
    password: bodies.NewPassword


class LanguageForm(Body):
    """The language of the user's mails."""

    language: Annotated[str, Field(max_length=16)]


@view_config(
    route_name="authsite.change-password",
    request_method="GET",
    permission=NO_PERMISSION_REQUIRED,
)
def find_password_form(request: Request) -> Response:
    """Redirect password managers to the form (W3C, A Well-Known URL for Changing Passwords).

    The target is the form's own path: a login would drop the fragment of a page's URL.
    """
    return found(request, route_path(request, "authsite.account.password"))


@account_form("authsite.account.profile", ProfileBody, judge=judges.profile)
def change_profile(request: Request) -> Response:
    """Change name, username and phone number; an empty field removes its value."""
    given: ProfileBody = request.authsite.validated
    service.change_profile(
        request.authsite.ctx,
        caller_of(request).acting_user(),
        given.name or "",
        {"username": given.username or "", "phone": given.phone or ""},
    )
    return back(request, "profile")


@account_form("authsite.account.email", EmailForm, judge=judges.email)
def change_email(request: Request) -> Response:
    """Request a change of the e-mail address."""
    user = caller_of(request).signed_in_user()
    given: EmailForm = request.authsite.validated
    email_change.request_change(request.authsite.ctx, user, ProofFields.of(given), given.email)
    return back(request, "email")


@account_form("authsite.account.email.resend")
def resend(request: Request) -> Response:
    """Mail the link again, to the unconfirmed address."""
    verification.resend_link(request.authsite.ctx, caller_of(request).acting_user())
    return back(request, "resend")


@account_form("authsite.account.email.cancel")
def cancel_change(request: Request) -> Response:
    """Cancel the pending change of address."""
    email_change.cancel_change(request.authsite.ctx, caller_of(request).acting_user().id)
    return back(request, "canceled")


@account_form("authsite.account.password", PasswordBody, judge=judges.password)
def change_password(request: Request) -> Response:
    """Change the password; all other sign-ins end."""
    user = caller_of(request).signed_in_user()
    given: PasswordBody = request.authsite.validated
    renewed = service.change_password(
        request.authsite.ctx, user, ProofFields.of(given), given.password
    )
    cookies.renew_session(request, renewed)
    return back(request, "password")


@account_form("authsite.account.password.link")
def mail_password_link(request: Request) -> Response:
    """Mail the link that sets a password, for a user who has none."""
    recovery.request_reset(request.authsite.ctx, caller_of(request).acting_user().email)
    return back(request, "link")


@password_check("authsite.account.password.check", NewPassword)
def check_password(request: Request) -> dict[str, Any]:
    """Rate the new password while it is typed."""
    given: NewPassword = request.authsite.validated
    return rating(request, given.password, caller_of(request).acting_user())


@account_form("authsite.account.sessions.end", EndSessionForm)
def end_one(request: Request) -> Response:
    """End one session; ending the present one signs the browser out."""
    caller, given = caller_of(request), request.authsite.validated
    wanted = service.session_id(request.matchdict["id"])
    account_sessions.end(
        request.authsite.ctx,
        caller.acting_user().id,
        wanted,
        caller.session_uuid,
        revoke_tokens=bool(given.revoke_tokens) or not given.asked,
    )
    if wanted == caller.session_uuid:
        cookies.clear_session(request)
        return see_other(request, f"{home_path(request)}?done=signed-out")
    return back(request, "sessions")


@account_form("authsite.account.sessions.end_others")
def end_others(request: Request) -> Response:
    """End all other sessions."""
    caller = caller_of(request)
    renewed = service.end_others(request.authsite.ctx, caller.signed_in_user())
    cookies.renew_session(request, renewed)
    return back(request, "sessions")


@account_form("authsite.account.export", ExportBody)
def download(request: Request) -> Response:
    """Everything that is stored about the user, as a file."""
    user = caller_of(request).signed_in_user()
    given: ExportBody = request.authsite.validated
    found = service.export_own(request.authsite.ctx, user, ProofFields.of(given))
    response: Response = request.response
    response.content_type, response.charset = "application/json", "utf-8"
    response.content_disposition = 'attachment; filename="account-data.json"'
    response.text = json.dumps(found, indent=2, ensure_ascii=False)
    return response


@account_form("authsite.account.delete", DeleteBody)
def delete(request: Request) -> Response:
    """Delete the account."""
    user = caller_of(request).signed_in_user()
    given: DeleteBody = request.authsite.validated
    service.delete(request.authsite.ctx, user, ProofFields.of(given))
    cookies.clear_session(request)
    return see_other(request, f"{home_path(request)}?done=deleted")


@account_form("authsite.account.language", LanguageForm)
def change_language(request: Request) -> Response:
    """Choose the language of the user's mails, and of the pages in this browser."""
    language = request.authsite.validated.language
    service.choose_language(request.authsite.ctx, caller_of(request).acting_user(), language)
    response = back(request, "language")
    languages.keep_language(request, response, language)
    return response


@link_view("authsite.not_me.link", NOT_ME)
def show_not_me(request: Request) -> dict[str, Any]:
    """The page that ends all sign-ins, or the form for a new password once they have ended."""
    return token_page(request, not_me.find)


@token_form("authsite.not_me.page", show=show_not_me, renderer=NOT_ME)
def end_sign_in(request: Request) -> dict[str, Any]:
    """End all sign-ins of the user, to whom the notice with the link was mailed."""
    token = request.authsite.validated.token
    not_me.end(request.authsite.ctx, token)
    device_cookie.set_cookie(request)
    return {"state": "choose", "found": None, "token": token}


@token_form("authsite.not_me.password", form=NotMeForm, show=show_not_me, renderer=NOT_ME)
def choose_password(request: Request) -> dict[str, Any]:
    """Set the password that the reader of the link has chosen."""
    given: NotMeForm = request.authsite.validated
    found = not_me.choose_password(request.authsite.ctx, given.token, given.password)
    device_cookie.set_cookie(request)
    if found.is_present:
        keep_address(request, found.user.email)
    return {"state": "done", "found": found, "token": None}


@password_check("authsite.not_me.check", NotMeForm, permission=NO_PERMISSION_REQUIRED)
def check_choice(request: Request) -> dict[str, Any]:
    """Rate the new password while it is typed."""
    given: NotMeForm = request.authsite.validated
    found = not_me.find_choice(request.authsite.ctx, given.token)
    return rating(request, given.password, found.user)
