"""A mailed link, and then a new password."""

from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite import clock
from authsite.http.answers import Message, answers
from authsite.http.bodies import Body, Email, Password, Token, Url
from authsite.http.errors import FieldError, ValidationFailed
from authsite.http.page_urls import check_page_url
from authsite.login.identifiers import key_of
from authsite.texts import text as _
from authsite.throttle.attempts import after_commit

from . import service
from .errors import InvalidResetToken

_NOT_ALLOWED = FieldError("not_allowed", "reset_url", "Send one of those configured.")
_WEAK = FieldError("weak_password", "password", "This is a common word or name.")
_SENT = {"message": "If the address is known here, a message with a link is on its way to it."}


class ForgotBody(Body):
    """Whose password is forgotten, and where the mailed link leads."""

    email: Email
    """The address of the account."""
    reset_url: Url | None = None
    """The page that the link opens: one of those configured."""
    reseturl: Url | None = None
    """Another spelling of `reset_url`."""


class ResetBody(Body):
    """What the reset page collected."""

    email: Email
    """The address in the link."""
    token: Token
    """The token in the link."""
    password: Password
    """The new password."""
    password_confirmation: Password | None = None
    """The new password again; compared if it is sent."""


@view_config(
    route_name="authsite.recovery.forgot",
    request_method="POST",
    body=ForgotBody,
    throttle="forgot-address",
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@answers({202: Message}, errors=(ValidationFailed(details=[_NOT_ALLOWED]),))
def forgot(request):
    """Mail a reset link.

    The answer is the same, and takes as long, for every address.
    """
    given = request.given
    url = given.reset_url or given.reseturl
    if url is None:
        message = "Send the page that the link shall open: one of those configured."
        raise ValidationFailed(details=[FieldError("required", "reset_url", message)])
    check_page_url(url, service.page_urls(request.cfg, request.base_url), "reset_url")
    ask(request, given.email, url)
    request.response.status_int = 202
    return _SENT


def ask(request, email, page_url):
    """What the endpoint and the page do alike: count, then ask."""
    service.ask(
        request.db, request.cfg, clock.now(), request.source, email, page_url,
        quiet=not request.attempts.allows("forgot-email", key_of("email", email)),
    )  # fmt: skip


@view_config(
    route_name="authsite.recovery.reset",
    request_method="POST",
    body=ResetBody,
    throttle="reset-token",
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@answers({200: Message}, errors=(ValidationFailed(details=[_WEAK]), InvalidResetToken))
def reset(request):
    """Set a new password with the token of a mailed link.

    It works once, ends all tokens and sessions, and does not sign in.
    """
    spend(request)
    return {"message": "The password is changed. Log in with it."}


def spend(request):
    """What the endpoint and the page do alike: compare, reset, and clear the login limit."""
    given = request.given
    if given.password_confirmation not in (None, given.password):
        message = _("The two passwords are not the same.")
        raise ValidationFailed(details=[FieldError("invalid", "password_confirmation", message)])
    service.reset(
        request.db, request.database, request.cfg, request.reset_keys, request.passwords,
        clock.now(), request.source, given.email, given.token, given.password,
    )  # fmt: skip
    after_commit(request, lambda: request.attempts.forget(key_of("email", given.email)))
