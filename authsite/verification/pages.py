"""The page that a mailed link opens, and the page that mails a new one."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.platform.addresses import shown
from authsite.platform.context import Context
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Body, Email, Token, Url
from authsite.platform.http.errors import ApiError, FieldError
from authsite.platform.http.forms import form_view, link_view
from authsite.platform.http.rendering import go_on, page_path, see_other
from authsite.platform.http.return_to import forget_next, keep_next
from authsite.platform.i18n import duration_words
from authsite.platform.rate_limit import device_cookie
from authsite.platform.request_state import Request
from authsite.sign_in.factors.remembered import target_of
from authsite.sign_in.known_address import keep_address
from authsite.sign_in.login_url import login_url
from authsite.sign_in.methods.mail_code import service as mail_code
from authsite.sign_in.pages import lead_in
from authsite.sign_in.pending import read_key
from authsite.sign_in.sessions import cookies
from authsite.users.account import Account
from authsite.users.caller import signed_in

from . import confirmation, email_change, links, service
from .errors import ChangeNotAuthenticated
from .service import forget_registered, is_registered_here

REQUEST_LINK = "authsite:templates/verification/request_link.jinja2"
VERIFY = "authsite:templates/verification/verify.jinja2"
CANCEL_CHANGE = "authsite:templates/verification/cancel_change.jinja2"
REVERT_CHANGE = "authsite:templates/verification/revert_change.jinja2"


class VerifyForm(Body):
    """The link that the page was opened with."""

    url: Url


def show(request: Request) -> dict[str, Any] | Response:
    """The page with a button if the link is valid; opening it does not use the link."""
    url = request.GET.get("url", "")
    return _page(request, lambda ctx: links.read_url(ctx, url))


def show_again(request: Request) -> dict[str, Any] | Response:
    """The page after an error, with the button if the link is still valid."""
    url = request.authsite.form_data.get("url", "")
    errors = request.authsite.form_errors
    return _page(request, lambda ctx: links.read_url(ctx, url), errors=errors)


@link_view("authsite.verify.link", VERIFY)
def show_link(request: Request) -> dict[str, Any] | Response:
    """The page of a short link; its form has the signed URL with the same content."""
    token = request.matchdict["token"]
    return _page(request, lambda ctx: links.read_token(ctx, token))


verify_form = partial(
    form_view,
    form=VerifyForm,
    show=show_again,
    get=show,
    renderer=VERIFY,
    permission=NO_PERMISSION_REQUIRED,
)


@verify_form("authsite.verify.page")
def verify(request: Request) -> dict[str, Any] | Response:
    """Confirm the address that the link was mailed to.

    The browser in which the account was registered is signed in, unless a user is signed in there.
    """
    ctx, caller = request.authsite.ctx, signed_in(request)
    link = links.read_url(ctx, request.authsite.validated.url)
    try:
        done = confirmation.redeem(
            ctx,
            link,
            user_id=caller.acting_user().id if caller else None,
            session_id=caller.browser_uuid if caller else None,
        )
    except ChangeNotAuthenticated:
        return _sign_in_first(request, link)
    user = done.confirmed
    if user and not caller and is_registered_here(request, user):
        forget_registered(request)
        target = target_of(request, next=request.authsite.next)
        outcome = confirmation.sign_in(ctx, user, target, former_key=cookies.session_key(request))
        if outcome:
            return lead_in(request, outcome)
    cookies.renew_session(request, done.renewed)
    keep_address(request, done.address)
    # A change has ended every sign-in but the one that it has renewed.
    remaining = done.renewed if done.changed else caller
    state = "changed" if done.changed else "done"
    address = shown(done.address)
    return {"state": state, "link": None, "address": address, "signed_in": remaining is not None}


@verify_form("authsite.disown.page")
def disown(request: Request) -> dict[str, Any]:
    """Delete the unconfirmed account that another person registered; see `confirmation.disown`."""
    ctx = request.authsite.ctx
    confirmation.disown(ctx, links.read_url(ctx, request.authsite.validated.url))
    return {"state": "disowned", "link": None}


def _sign_in_first(request: Request, link: links.VerifiedLink) -> dict[str, Any] | Response:
    """The way to the login, and back to the link; a page for another user who is signed in.

    Nothing of the account is shown: the new mailbox may be another person's.
    """
    token = links.token_of(request.authsite.ctx.services.keys[links.LINK], link)
    query = {"next": request.authsite.next} if request.authsite.next else {}
    here = route_path(request, "authsite.verify.link", token=token, _query=query)
    if signed_in(request):
        return {
            "state": "other_user",
            "link": None,
            "switch": login_url(request, here, prompt=True),
        }
    return see_other(request, login_url(request, here))


def _page(
    request: Request,
    read: Callable[[Context], links.VerifiedLink],
    errors: Sequence[FieldError] = (),
) -> dict[str, Any] | Response:
    ctx = request.authsite.ctx
    try:
        link = read(ctx)
        opened = confirmation.open_link(ctx, link)
    except ApiError as error:
        request.authsite.record_denial(error)
        request.response.status_int = error.status
        state = "expired" if error.code == "expired_signature" else "invalid"
        return {"state": state, "link": None, "lifetime": _lifetime(request)}
    gone = any(item.code == "invalid_signature" for item in errors)
    caller = signed_in(request)
    completer = None if gone else opened.completer
    if completer and (caller is None or caller.acting_user().id != completer):
        return _sign_in_first(request, link)
    ring, base_url = ctx.services.keys[links.PURPOSE], ctx.request_info.base_url
    url = None if gone else links.signed_url(ring, base_url, link)
    return {"state": "invalid" if gone else "ready", "link": url, **opened._asdict()}


class LinkForm(Body):
    """The address to confirm."""

    email: Email


def link_form(request: Request) -> dict[str, Any]:
    """The form, or the note that a mail is sent."""
    account = _signed_in(request)
    own = account.email if account and not account.confirmed else None
    return {
        "sent": request.GET.get("sent"),
        "own": own,
        "lifetime": _lifetime(request),
        "takes_code": request.authsite.settings.registration_open and read_key(request) is not None,
    }


def show_link_form(request: Request) -> dict[str, Any] | Response:
    """The form; a signed-in user who has confirmed the address by now goes on to ``next``."""
    account, target = _signed_in(request), request.authsite.next
    if account and account.confirmed and target:
        forget_next(request)
        return go_on(request, target)
    return link_form(request)


def _lifetime(request: Request) -> str:
    """How long links work, in words."""
    ctx = request.authsite.ctx
    return duration_words(ctx.settings.verification_expires_in, ctx.request_info.language)


def _signed_in(request: Request) -> Account | None:
    caller = signed_in(request)
    return caller.account if caller else None


@form_view(
    "authsite.link.page",
    LinkForm,
    show=link_form,
    get=show_link_form,
    renderer=REQUEST_LINK,
    permission=NO_PERMISSION_REQUIRED,
)
def request_link(request: Request) -> Response:
    """Mail a new link if the address is unconfirmed; the answer is the same for every address."""
    email = request.authsite.validated.email
    keep_address(request, email)
    ctx = request.authsite.ctx
    code_id = mail_code.registered_here(ctx, read_key(request))
    service.request_link(ctx, email, user=_signed_in(request), code_id=code_id)
    keep_next(request)
    return see_other(request, page_path(request, "link.page", sent="1"))


class TokenForm(Body):
    """The token of the link that a page was opened with."""

    token: Token


token_form = partial(form_view, form=TokenForm, permission=NO_PERMISSION_REQUIRED)


def token_page(request: Request, find: Callable[[Context, str], object]) -> dict[str, Any]:
    """A page with a button while a mailed link works; opening it changes nothing.

    Its values: ``state`` ("ready", or "invalid" if ``find`` raises an `ApiError`), the token, and
    what ``find`` returns as ``found``.
    """
    given = request.authsite.raw_form or request.matchdict or request.GET
    token = given.get("token", "")
    try:
        found = find(request.authsite.ctx, token)
    except ApiError as error:
        request.authsite.record_denial(error)
        request.response.status_int = error.status
        return {"state": "invalid", "found": None, "token": None}
    return {"state": "ready", "found": found, "token": token}


@link_view("authsite.cancel_change.link", CANCEL_CHANGE)
def show_cancel(request: Request) -> dict[str, Any]:
    """The page that cancels a change."""
    return token_page(request, email_change.find_pending)


@token_form("authsite.cancel_change.page", show=show_cancel, renderer=CANCEL_CHANGE)
def cancel_change(request: Request) -> dict[str, Any]:
    """Cancel the pending change of address, for the owner of the present address."""
    found = email_change.cancel(request.authsite.ctx, request.authsite.validated.token)
    return {"state": "done", "found": found, "token": None}


@link_view("authsite.revert_change.link", REVERT_CHANGE)
def show_revert(request: Request) -> dict[str, Any]:
    """The page that takes a change back."""
    return token_page(request, email_change.find_former)


@token_form("authsite.revert_change.page", show=show_revert, renderer=REVERT_CHANGE)
def revert_change(request: Request) -> dict[str, Any]:
    """Take a completed change of address back, for the owner of the former address."""
    address = email_change.revert(request.authsite.ctx, request.authsite.validated.token)
    device_cookie.set_cookie(request)
    keep_address(request, address)
    return {"state": "done", "address": shown(address), "token": None}
