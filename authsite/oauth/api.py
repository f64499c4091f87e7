"""The token endpoint and logout."""

from typing import Annotated, ClassVar

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite import clock
from authsite.audit.service import record
from authsite.http.bodies import Body, MaybeEmpty

from . import families, grants
from .client_auth import client_of
from .desk import Desk, TokenRequest
from .errors import ParametersInQuery

Name = Annotated[str, Field(max_length=320)]
Secret = Annotated[str, Field(max_length=4096, json_schema_extra={"format": "password"})]
TokenText = Annotated[str, Field(max_length=512)]


class TokenBody(Body):
    """The parameters of the token endpoint (RFC 6749, sections 4.3, 4.4 and 6)."""

    form_only: ClassVar[bool] = True

    grant_type: Annotated[str, Field(min_length=1, max_length=1024, examples=["password"])]
    client_id: MaybeEmpty | None = None
    client_secret: MaybeEmpty | None = None
    scope: MaybeEmpty | None = None
    username: Name | None = None
    password: Secret | None = None
    refresh_token: TokenText | None = None


def desk(request) -> Desk:
    """What the grants work with, out of the request."""
    return Desk(
        request.db,
        request.database,
        request.cfg,
        request.token_codec,
        request.passwords,
        request.login_steps,
        request.source,
        clock.now(),
    )


def token_answer(pair: families.TokenPair, asked_scope: str | None) -> dict[str, object]:
    """The token response (RFC 6749, section 5.1); ``scope`` only if it is not what was asked."""
    answer: dict[str, object] = {
        "token_type": "Bearer",
        "expires_in": pair.expires_in,
        "access_token": pair.access_token,
        "refresh_token": pair.refresh_token,
    }
    if set(pair.scope.split()) != set((asked_scope or "").split()):
        answer["scope"] = pair.scope
    return answer


@view_config(
    route_name="authsite.oauth.token",
    request_method="POST",
    body=TokenBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
def token(request):
    """Issue tokens by the grant named in grant_type."""
    given = request.given
    if request.query_string:
        raise ParametersInQuery
    grant_type = grants.grant_named(given.grant_type)
    asked = TokenRequest(given.scope, given.username, given.password, given.refresh_token)
    pair = grants.run(grant_type, desk(request), client_of(request), asked)
    return token_answer(pair, given.scope)


@view_config(route_name="authsite.logout", request_method="DELETE", renderer="json")
@view_config(route_name="authsite.logout.slash", request_method="DELETE", renderer="json")
def logout(request):
    """Revoke the token that was sent, with everything that came from the same login."""
    caller, now = request.caller, clock.now()
    families.revoke(request.db, now, caller.family_id, "logout")
    record(
        request.db, now, request.source, "token.revoked",
        user_id=caller.user.id if caller.user else None, client_id=caller.client_id,
        details={"family": str(caller.family_id), "why": "logout"},
    )  # fmt: skip
    for forget in request.registry["authsite.at_logout"]:
        forget(request)
    return {"message": "Token revoked successfully."}
