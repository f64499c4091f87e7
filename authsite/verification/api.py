"""The JSON views of verification confirmation."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.guards.policy import login_for
from authsite.platform.db.transaction import transaction
from authsite.platform.http.api_metadata import Message, Operation, Parameters
from authsite.platform.http.bodies import Body, Email, Url
from authsite.platform.http.errors import ApiError
from authsite.platform.http.return_to import page_not_allowed, page_required
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.users.errors import AddressTaken, UserRequired

from . import confirmation, links, service
from .errors import ChangeNotAuthenticated, ExpiredSignature, InvalidSignature

_SENT: Message = {"message": "A message with a link is on its way."}


class NotificationBody(Body):
    description = (
        "The page that the mailed link opens. Without a token (Variant B, or where confirmation is "
        "required) also the address to verify."
    )

    verification_url: Annotated[
        Url | None, Field(examples=["https://app.example.com/verified"])
    ] = None
    """The page that the link opens: one of those configured. Variant B has a default."""
    email: Email | None = None
    """Without a token: the address to verify. Only in Variant B, or where confirmation is
    required."""


class VerifyPath(Parameters):
    """Path of a verification link."""

    user_id: Annotated[str, Field(examples=["0b0e4f5c-3f1c-4f4e-9a57-6a1c2b7d9e10"])]
    """The user's id."""
    hash: Annotated[
        str, Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    ]
    """SHA-256 of the address that the link was mailed to."""


class VerifyQuery(Parameters):
    """Query of a verification link (`links`)."""

    expires: Annotated[str, Field(examples=["1798761600"])]
    """When the link expires, in seconds since 1970 (UTC)."""
    signature: Annotated[str, Field(examples=["0" * 64])]
    """The signature over the path, `expires` and the purpose of the link."""


@view_config(
    route_name="authsite.verification.notification",
    request_method="POST",
    body=NotificationBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,  # the route's guard decides
    personal_token=True,
)
@Operation(
    "Send a verification link to the user's address",
    {200: Message, 202: Message},
    errors=(page_not_allowed("verification_url"), UserRequired, TooManyAttempts(60)),
)
def notification(request: Request) -> Message:
    """Send a link for the caller's user, or without a token for the address in the body.

    Respond 200 if the address is verified already, else 202.
    """
    ctx, caller = request.authsite.ctx, request.authsite.caller
    given: NotificationBody = request.authsite.validated
    if given.verification_url is None and not ctx.settings.confirms_as_in_variant_b:
        raise page_required("verification_url")
    if caller is None:
        service.request_link(ctx, given.email, given.verification_url)
    elif not service.send_link(ctx, caller.acting_user(), given.verification_url):
        return {"message": "This address is verified already."}
    request.response.status_int = 202
    return _SENT


@view_config(
    route_name="authsite.verification.verify",
    request_method=("GET", "POST"),
    spends=True,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Verify the address that the link was mailed to",
    {200: Message},
    description=(
        "Send the whole URL unchanged, because it is signed. HEAD only checks the link. The link "
        "of a change of address which the user asked for needs an access token of this user, as "
        "`PUT /v1/user/email` does, and ends all sign-ins. Other links need none."
    ),
    errors=(ChangeNotAuthenticated, InvalidSignature, ExpiredSignature, AddressTaken),
    path=VerifyPath,
    query=VerifyQuery,
)
def verify(request: Request) -> Message | dict[str, Any]:
    """Check the signature over the path and query, and redeem the link; HEAD only checks.

    A token counts only where one is needed: an old one must not spoil other links.
    """
    path = f"/v1/email/verify/{request.matchdict['user_id']}/{request.matchdict['hash']}"
    link = links.read(request.authsite.ctx, path, request.query_string)
    if request.method == "HEAD":
        return {}
    ctx = request.authsite.ctx
    user_id = _user_of_token(request) if confirmation.needs_user(ctx, link) else None
    with transaction(request):
        confirmation.redeem(ctx, link, user_id=user_id)
    return {"message": "The e-mail address is verified."}


def _user_of_token(request: Request) -> UUID:
    """The user whose token may change the address. Raises `ChangeNotAuthenticated`."""
    try:
        return login_for(request, "authsite.user.email").acting_user().id
    except ApiError as error:
        if error.status == 403:  # not of this kind of token: it counts as none
            raise ChangeNotAuthenticated from None
        raise
