"""The JSON views of personal access tokens."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.oauth.tokens.families import ListedToken, list_personal
from authsite.platform.http.api_metadata import Operation, Parameters, response_body
from authsite.platform.http.bodies import Body, CurrentPassword, MailCode, MaybeEmpty, Missing
from authsite.platform.http.errors import FieldError
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_id
from authsite.sign_in.errors import PROOF_ERRORS
from authsite.sign_in.reauthentication import ProofFields
from authsite.users.caller import caller_of
from authsite.users.errors import UserRequired

from . import service
from .service import NAME_MISSING, InvalidLifetime, ScopeNotAllowed, TooManyTokens, UnknownToken

_MOMENT = Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])
Name = Annotated[
    str,
    Field(min_length=1, max_length=100, examples=["backup script"]),
    Missing(NAME_MISSING),
]
Lifetime = Annotated[str, Field(min_length=1, max_length=20, examples=["30d"])]


class TokenBody(Body):
    description = "A new personal access token."

    name: Name
    """What the token is for, to recognize it in the list."""
    scope: MaybeEmpty | None = None
    """Scopes, separated by spaces, of those that the token of the request has. By default none."""
    expires_in: Lifetime | None = None
    """The lifetime, such as `12h` or `30d`: at most `365d`, by default `90d`."""
    current_password: CurrentPassword = None
    """The user's password. A user without one confirms with a linked provider instead."""
    mail_code: MailCode = None
    """The code that was mailed for this change, where one is asked for."""


class TokenPath(Parameters):
    """Path of one personal access token."""

    id: Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
    """Its id in the list."""


# Described here, for strings under fields are not inherited.
@response_body("A personal access token, without the token itself.")
class PersonalTokenAnswer(TypedDict):
    id: Annotated[
        str,
        Field(
            description="The id for `DELETE /v1/user/tokens/{id}`.",
            examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"],
        ),
    ]
    name: Annotated[str, Field(description="What the token is for.", examples=["backup script"])]
    scope: Annotated[
        str, Field(description="Its scopes, separated by spaces.", examples=["reports:read"])
    ]
    created: Annotated[str, _MOMENT, Field(description="When it was created.")]
    expires: Annotated[str, _MOMENT, Field(description="When it expires.")]
    last_used: Annotated[
        Annotated[str, _MOMENT] | None,
        Field(description="When it was last used, to the hour; null before the first use."),
    ]


@response_body("A new personal access token. The token itself is shown only in this response.")
class CreatedTokenAnswer(PersonalTokenAnswer):
    token: Annotated[
        str, Field(pattern="^pat_[A-Za-z0-9_-]+$", examples=["pat_q83vEjRWeJCrze8SNFZ4kKvN"])
    ]
    """Send it as `Authorization: Bearer <token>`."""


@response_body("The active personal access tokens of the user.")
class PersonalTokensAnswer(TypedDict):
    tokens: list[PersonalTokenAnswer]
    """The newest first."""


def judge(request: Request, given: Any) -> Sequence[FieldError]:
    """What is wrong with the other fields of a refused request: see `bodies.Judge`."""
    caller = caller_of(request)
    requested = service.RequestedToken(given.name or "", given.scope, given.expires_in)
    user, proof = caller.signed_in_user(), ProofFields.of(given)
    found: Sequence[FieldError] = service.token_errors(
        request.authsite.ctx, user, proof, requested, caller.scope
    )
    return found


@view_config(
    route_name="authsite.user.tokens",
    request_method="POST",
    body=TokenBody,
    judge=judge,
    renderer="json",
)
@Operation(
    "Create a personal access token",
    {201: CreatedTokenAnswer},
    description=(
        "The token acts for the user with at most the scopes of the token of this request, until "
        "it expires or is revoked. It ends, as all tokens of the user do, when the password or "
        "the e-mail address changes and when all other sign-ins are ended. The user is notified by "
        "mail. It is not a login: the endpoints that change the account refuse it."
    ),
    errors=(
        *PROOF_ERRORS,
        ScopeNotAllowed,
        InvalidLifetime,
        TooManyTokens,
        UserRequired,
        TooManyAttempts(60),
    ),
)
def create(request: Request) -> CreatedTokenAnswer:
    caller = caller_of(request)
    given: TokenBody = request.authsite.validated
    made, text = service.create(
        request.authsite.ctx,
        caller.signed_in_user(),
        ProofFields.of(given),
        service.RequestedToken(given.name, given.scope, given.expires_in),
        caller.scope,
    )
    request.response.status_int = 201
    return {**_as_json(made), "token": text}


@view_config(route_name="authsite.user.tokens", request_method="GET", renderer="json")
@Operation(
    "List the personal access tokens of the user",
    {200: PersonalTokensAnswer},
    errors=(UserRequired,),
)
def list_tokens(request: Request) -> PersonalTokensAnswer:
    user = caller_of(request).acting_user()
    found = list_personal(request.authsite.ctx, user.id)
    return {"tokens": [_as_json(item) for item in found]}


@view_config(route_name="authsite.user.token", request_method="DELETE")
@Operation(
    "Revoke a personal access token",
    {204: None},
    errors=(UnknownToken, UserRequired),
    path=TokenPath,
)
def revoke(request: Request) -> Response:
    user = caller_of(request).acting_user()
    wanted = as_id(request.matchdict["id"])
    if wanted is None or not service.revoke(request.authsite.ctx, user.id, wanted):
        raise UnknownToken
    request.response.status_int = 204
    return request.response


def _as_json(token: ListedToken) -> PersonalTokenAnswer:
    return {
        "id": str(token.id),
        "name": token.name,
        "scope": token.scope,
        "created": clock.rfc3339(token.created),
        "expires": clock.rfc3339(token.expires),
        "last_used": clock.rfc3339(token.last_used) if token.last_used else None,
    }
