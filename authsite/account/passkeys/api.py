"""The JSON views of passkeys."""

from typing import Any

from pyramid.response import Response
from pyramid.view import view_config

from authsite.account.bodies import ProofBody
from authsite.account.factors.bodies import PasskeyAnswer
from authsite.guards.errors import EmailNotConfirmed
from authsite.platform.http.api_metadata import Operation
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.sign_in.errors import PROOF_ERRORS
from authsite.sign_in.factors.errors import LastFactor, LastWayIn, NotOffered, UnknownFactor
from authsite.sign_in.methods.passkeys import changes
from authsite.sign_in.methods.passkeys.errors import (
    InvalidCredential,
    TooManyPasskeys,
)
from authsite.sign_in.reauthentication import ProofFields
from authsite.users.caller import caller_of
from authsite.users.errors import UserRequired

from . import service
from .bodies import (
    CreationOptions,
    NameBody,
    NewPasskeyAnswer,
    PasskeyBody,
    PasskeyPath,
    as_json,
)


@view_config(
    route_name="authsite.user.passkeys.options",
    request_method="POST",
    body=ProofBody,
    renderer="json",
)
@Operation(
    "Begin to add a passkey",
    {200: CreationOptions},
    description="The passkey that is made with these options is sent to `/v1/user/passkeys`.",
    errors=(
        *PROOF_ERRORS,
        EmailNotConfirmed,
        NotOffered,
        TooManyPasskeys,
        UserRequired,
        TooManyAttempts(60),
    ),
)
def options(request: Request) -> dict[str, Any]:
    user = caller_of(request).signed_in_user()
    given: ProofBody = request.authsite.validated
    return service.begin(request.authsite.ctx, user, ProofFields.of(given))


@view_config(
    route_name="authsite.user.passkeys",
    request_method="POST",
    body=PasskeyBody,
    renderer="json",
)
@Operation(
    "Add a passkey",
    {201: NewPasskeyAnswer},
    description="The user is notified by mail. A first factor ends all other sign-ins.",
    errors=(InvalidCredential, NotOffered, TooManyPasskeys, UserRequired),
)
def add(request: Request) -> dict[str, Any]:
    user = caller_of(request).signed_in_user()
    given: PasskeyBody = request.authsite.validated
    row, changed = service.add(
        request.authsite.ctx, user, given.credential, given.name, given.end_others
    )
    request.response.status_int = 201
    shown, codes = as_json(row), changed.recovery_codes
    return {**shown} if codes is None else {**shown, "recovery_codes": list(codes)}


@view_config(
    route_name="authsite.user.passkey", request_method="PATCH", body=NameBody, renderer="json"
)
@Operation(
    "Rename a passkey",
    {200: PasskeyAnswer},
    errors=(UnknownFactor, UserRequired),
    path=PasskeyPath,
)
def rename(request: Request) -> PasskeyAnswer:
    user, given = caller_of(request).acting_user(), request.authsite.validated
    wanted = as_id(request.matchdict["id"])
    return as_json(changes.rename(request.authsite.ctx, user.id, wanted, given.name))


@view_config(route_name="authsite.user.passkey", request_method="DELETE", body=ProofBody)
@Operation(
    "Remove a passkey",
    {204: None},
    description="The user is notified by mail.",
    errors=(*PROOF_ERRORS, UnknownFactor, LastFactor, LastWayIn, UserRequired, TooManyAttempts(60)),
    path=PasskeyPath,
)
def remove(request: Request) -> Response:
    user = caller_of(request).signed_in_user()
    given: ProofBody = request.authsite.validated
    wanted = as_id(request.matchdict["id"])
    service.remove(request.authsite.ctx, user, wanted, ProofFields.of(given))
    request.response.status_int = 204
    return request.response
