"""The userinfo endpoint (OpenID Connect Core 1.0, section 5.3): who a token acts for."""

from typing import Annotated, Any, NotRequired

from pydantic import Field
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.oauth.api import reject_query
from authsite.oauth.errors import ParametersInQuery
from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.oauth.oidc.id_tokens import user_claims
from authsite.oauth.oidc.keys.ring import require_signers
from authsite.platform.context import Context
from authsite.platform.http.api_metadata import Operation, response_body
from authsite.platform.request_state import Request
from authsite.users.caller import Caller, caller_of

_EMAIL = "ann@example.com"


@response_body("The claims about the user that the scopes of the token name (section 5.4).")
class UserinfoAnswer(TypedDict):
    sub: Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
    """The id of the user: permanent and unique."""
    name: NotRequired[Annotated[str, Field(examples=["Ann Lee"])]]
    """Scope `profile`: the user's name."""
    preferred_username: NotRequired[Annotated[str, Field(examples=[_EMAIL])]]
    """Scope `profile`: the username, else the confirmed e-mail address. It may change."""
    nickname: NotRequired[str]
    """Scope `profile`: the username."""
    updated_at: NotRequired[Annotated[int, Field(examples=[1767222000])]]
    """Scope `profile`: when the user was last changed, in seconds since 1970."""
    email: NotRequired[Annotated[str, Field(examples=[_EMAIL])]]
    """Scope `email`: the e-mail address; absent unless the user has confirmed it."""
    email_verified: NotRequired[bool]
    """Scope `email`: true; absent without `email`."""
    phone_number: NotRequired[str]
    """Scope `phone`: the phone number in the format of E.164."""
    phone_number_verified: NotRequired[bool]
    """Scope `phone`: false, since it is not checked whose number it is."""
    groups: NotRequired[Annotated[list[str], Field(examples=[["ops"]])]]
    """Scope `groups`: the groups of the user."""


@view_config(
    route_name="authsite.oauth.userinfo",
    request_method="GET",
    renderer="json",
    any_client=True,
)
@view_config(
    route_name="authsite.oauth.userinfo",
    request_method="POST",
    renderer="json",
    any_client=True,
)
@Operation(
    "The user for whom a token acts",
    {200: UserinfoAnswer},
    description=(
        "The token belongs in the header `Authorization`, also with POST. It needs the scope "
        "`openid`. Claims that an application adds with `config.add_claims` are members, too."
    ),
    errors=(SigningUnavailable, ParametersInQuery),
)
def userinfo(request: Request) -> dict[str, Any]:
    """The claims; the guard has checked the token."""
    reject_query(request)
    return answer(request.authsite.ctx, caller_of(request))


def answer(ctx: Context, caller: Caller) -> dict[str, Any]:
    """The members of the answer. Raises `SigningUnavailable`, as the token endpoint does."""
    require_signers(ctx)
    account = caller.acting_user()
    claims = user_claims(ctx, account, caller.scope, caller.acr)
    return {"sub": str(account.id), **claims}
