"""Links that prove an address, and the change to another one."""

from typing import Annotated

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite import clock
from authsite.db.transaction import own_transaction
from authsite.guards.errors import NotAuthenticated, UserRequired
from authsite.http.answers import Message, Parameters, answers
from authsite.http.bodies import Body, Email, Password, Url
from authsite.http.errors import FieldError, ValidationFailed
from authsite.http.page_urls import check_page_url
from authsite.login.check import current_password
from authsite.login.identifiers import InvalidIdentifier, key_of
from authsite.users.errors import IdentifierTaken

from . import service, signed_urls
from .errors import ExpiredSignature, InvalidSignature

_SENT = {"message": "A message with a link is on its way."}
_NOT_ALLOWED = FieldError("not_allowed", "verification_url", "Send one of those configured.")


class NotificationBody(Body):
    """Where the mailed link leads; in Variant B a request without a token names the address."""

    verification_url: Url | None = None
    """The page that the link opens: one of those configured. Variant B has a default."""
    email: Email | None = None
    """Variant B, without a token: the address that waits for its link."""


class EmailBody(Body):
    """A new e-mail address."""

    email: Email
    """The new address; it counts once its link was used."""
    current_password: Password
    """The user's password."""
    verification_url: Url | None = None
    """The page that the link opens: one of those configured. The first of them by default."""


class VerifyPath(Parameters):
    """Whom the link is for."""

    user_id: Annotated[str, Field(examples=["0b0e4f5c-3f1c-4f4e-9a57-6a1c2b7d9e10"])]
    """The user's id."""
    hash: Annotated[
        str, Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    ]
    """SHA-256 of the address that the link was mailed to."""


class VerifyQuery(Parameters):
    """What the link was signed with."""

    expires: Annotated[str, Field(examples=["1798761600"])]
    """When the link ends, in seconds since 1970."""
    signature: Annotated[str, Field(examples=["0" * 64])]
    """Over all of the above, and what the link is for."""


@view_config(
    route_name="authsite.verification.notification",
    request_method="POST",
    body=NotificationBody,
    throttle="verification",
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,  # the route's guard decides; Variant B lets strangers ask
)
@answers(
    {200: Message, 202: Message},
    errors=(ValidationFailed(details=[_NOT_ALLOWED]), UserRequired),
)
def notification(request):
    """Send a verification link to the user's address."""
    page_url = _page_url(request)
    now = clock.now()
    if request.caller is None:
        _ask_by_address(request, page_url, now)
    else:
        user = request.caller.acting_user()
        if user.confirmed:
            return {"message": "This address is verified already."}
        service.ask(request.db, request.cfg, now, request.source, user.id, user.email, page_url)
    request.response.status_int = 202
    return _SENT


def _ask_by_address(request, page_url, now):
    if not request.given.email:
        if "Authorization" in request.headers:
            raise NotAuthenticated(token_sent=True)
        message = "Send an access token, or the address that waits for its link."
        raise ValidationFailed(details=[FieldError("required", "email", message)])
    service.ask_by_address(
        request.db, request.cfg, now, request.source, request.given.email, page_url,
        quiet=not request.attempts.allows("forgot-email", key_of("email", request.given.email)),
    )  # fmt: skip


@view_config(
    route_name="authsite.verification.verify",
    request_method=("GET", "POST"),
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@answers(
    {200: Message},
    errors=(InvalidSignature, ExpiredSignature, IdentifierTaken(["email"])),
    path=VerifyPath,
    query=VerifyQuery,
)
def verify(request):
    """Verify the address that the link was mailed to.

    The link is used as it came: the whole URL is signed. HEAD changes nothing.
    """
    path = f"/v1/email/verify/{request.matchdict['user_id']}/{request.matchdict['hash']}"
    now = clock.now()
    link = signed_urls.read(request.verification_keys, path, request.query_string, now)
    if request.method == "HEAD":
        return {}
    with own_transaction(request):
        service.redeem(request.db, now, request.source, link)
    return {"message": "The e-mail address is verified."}


@view_config(
    route_name="authsite.user.email",
    request_method="PUT",
    body=EmailBody,
    throttle="verification",
    renderer="json",
)
@answers(
    {202: Message},
    errors=(
        ValidationFailed(details=[FieldError("invalid_password", "current_password", "Wrong.")]),
        ValidationFailed(details=[_NOT_ALLOWED]),
        IdentifierTaken(["email"]),
        UserRequired,
    ),
)
def change_email(request):
    """Ask for another e-mail address.

    A link goes to the new address and a notice to the old one; until the link is used the old
    address stands.
    """
    user = request.caller.acting_user()
    page_url = _page_url(request, required=False)
    current_password(request.database, request.passwords, user, request.given.current_password)
    try:
        service.ask_for_change(
            request.db, request.cfg, clock.now(), request.source, user.id,
            request.given.email, page_url,
        )  # fmt: skip
    except InvalidIdentifier as error:
        raise ValidationFailed(details=[FieldError(error.code, "email", error.message)]) from None
    request.response.status_int = 202
    return _SENT


def _page_url(request, *, required=True):
    """The page that the link shall open: the one asked for if it is allowed, or the default."""
    allowed = service.page_urls(request.cfg, request.base_url)
    url = request.given.verification_url
    if url is None:
        if required and request.cfg.variant == "A":
            message = "Send the page that the link shall open: one of those configured."
            raise ValidationFailed(details=[FieldError("required", "verification_url", message)])
        return allowed[0]
    return check_page_url(url, allowed, "verification_url")
