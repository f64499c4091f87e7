"""The JSON views of the second factors."""

from typing import cast

from pyramid.response import Response
from pyramid.view import view_config

from authsite.account import judges
from authsite.account.bodies import ProofBody
from authsite.guards.errors import EmailNotConfirmed
from authsite.platform.http.api_metadata import Operation
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.sign_in.errors import PROOF_ERRORS
from authsite.sign_in.factors import service as factors
from authsite.sign_in.factors.errors import (
    FactorRequired,
    InvalidEnrollment,
    LastFactor,
    NotOffered,
    UnknownFactor,
    WrongFirstCode,
)
from authsite.sign_in.reauthentication import ProofFields
from authsite.users.caller import caller_of
from authsite.users.errors import UserRequired

from . import service
from .bodies import (
    ChangedFactorsAnswer,
    ConfirmTotpBody,
    EnrollmentAnswer,
    FactorsAnswer,
    RecoveryCodesAnswer,
    SecondFactorBody,
    as_json,
)

_PROOF = (*PROOF_ERRORS, UserRequired, TooManyAttempts(60))


@view_config(route_name="authsite.user.factors", request_method="GET", renderer="json")
@Operation("Show the second factors and passkeys", {200: FactorsAnswer}, errors=(UserRequired,))
def show(request: Request) -> FactorsAnswer:
    user = caller_of(request).signed_in_user()
    return as_json(factors.overview(request.authsite.ctx, user.account.id))


@view_config(
    route_name="authsite.user.totp", request_method="POST", body=ProofBody, renderer="json"
)
@Operation(
    "Begin to add an authenticator app",
    {200: EnrollmentAnswer},
    description=(
        "Nothing changes before `POST /v1/user/totp/confirm`. It then replaces the present app. "
        "A first factor needs a confirmed address and, unless the browser is well known or the "
        "sign-in has proved the mailbox, a `mail_code`."
    ),
    errors=(*_PROOF, EmailNotConfirmed, NotOffered),
)
def begin_totp(request: Request) -> EnrollmentAnswer:
    user, ctx = caller_of(request).signed_in_user(), request.authsite.ctx
    begun = service.begin_totp(ctx, user, ProofFields.of(request.authsite.validated))
    return cast(EnrollmentAnswer, begun._asdict())


@view_config(
    route_name="authsite.user.totp.confirm",
    request_method="POST",
    body=ConfirmTotpBody,
    renderer="json",
)
@Operation(
    "Add the authenticator app with its first code",
    {200: ChangedFactorsAnswer},
    description="With a first factor the other sign-ins end, and recovery codes are made.",
    errors=(InvalidEnrollment, WrongFirstCode, NotOffered, UserRequired),
)
def confirm_totp(request: Request) -> ChangedFactorsAnswer:
    user, ctx = caller_of(request).signed_in_user(), request.authsite.ctx
    given: ConfirmTotpBody = request.authsite.validated
    changed = service.confirm_totp(ctx, user, given.enrollment, given.code, given.end_others)
    answer = cast(ChangedFactorsAnswer, as_json(factors.overview(ctx, user.account.id)))
    if changed.recovery_codes:
        answer["recovery_codes"] = list(changed.recovery_codes)
    return answer


@view_config(route_name="authsite.user.totp", request_method="DELETE", body=ProofBody)
@Operation(
    "Remove the authenticator app",
    {204: None},
    description="With the last factor the recovery codes end.",
    errors=(*_PROOF, UnknownFactor, LastFactor),
)
def remove_totp(request: Request) -> Response:
    user, ctx = caller_of(request).signed_in_user(), request.authsite.ctx
    service.remove_totp(ctx, user, ProofFields.of(request.authsite.validated))
    request.response.status_int = 204
    return request.response


@view_config(
    route_name="authsite.user.recovery_codes",
    request_method="POST",
    body=ProofBody,
    renderer="json",
)
@Operation(
    "Make new recovery codes",
    {200: RecoveryCodesAnswer},
    description="The former ones end.",
    errors=(*_PROOF, NotOffered, FactorRequired),
)
def make_codes(request: Request) -> RecoveryCodesAnswer:
    user, ctx = caller_of(request).signed_in_user(), request.authsite.ctx
    made = service.make_codes(ctx, user, ProofFields.of(request.authsite.validated))
    return {"recovery_codes": list(made)}


@view_config(
    route_name="authsite.user.second_factor",
    request_method="PUT",
    body=SecondFactorBody,
    judge=judges.factors,
    renderer="json",
)
@Operation(
    "Choose whether a passkey is asked for after the password",
    {200: FactorsAnswer},
    errors=(*_PROOF, FactorRequired),
)
def ask_after_password(request: Request) -> FactorsAnswer:
    user, ctx = caller_of(request).signed_in_user(), request.authsite.ctx
    given: SecondFactorBody = request.authsite.validated
    service.ask_after_password(ctx, user, given.after_password, ProofFields.of(given))
    return as_json(factors.overview(ctx, user.account.id))


@view_config(route_name="authsite.user.remembered_browsers", request_method="DELETE")
@Operation(
    "Forget the remembered browsers",
    {204: None},
    description="Each is asked for the second factor again at its next sign-in.",
    errors=(UserRequired, TooManyAttempts(60)),
)
def forget_browsers(request: Request) -> Response:
    user = caller_of(request).signed_in_user()
    service.forget_browsers(request.authsite.ctx, user)
    request.response.status_int = 204
    return request.response
