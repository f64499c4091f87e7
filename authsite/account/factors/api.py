"""The JSON views of the second factors."""

from typing import Annotated, cast

from pydantic import Field
from pyramid.response import Response
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.account import judges
from authsite.account.api import ProofBody
from authsite.guards.errors import EmailNotConfirmed
from authsite.platform.http.api_metadata import Operation, response_body
from authsite.platform.http.bodies import Body, Flag, Missing
from authsite.platform.i18n import _
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime.clock import rfc3339
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
from authsite.sign_in.factors.service import Overview, OwnPasskey
from authsite.sign_in.reauthentication import ProofFields
from authsite.users.caller import caller_of
from authsite.users.errors import UserRequired

from . import service

# The bodies of requests and responses about second factors.


_Moment = Annotated[
    str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])
]
_Code = Annotated[
    str,
    Field(min_length=1, max_length=64, examples=["492039"]),
    Missing(_("Enter the six digits that your app shows.")),
]
_EnrollmentText = Annotated[str, Field(min_length=1, max_length=1024, examples=["et_3f9c…"])]
_RecoveryCodes = Annotated[list[str], Field(examples=[["7Q4M-92RT-XK3D-0HVB-5WZE-P1NC"]])]


class ConfirmTotpBody(Body):
    description = "The first code of a new authenticator app."

    enrollment: _EnrollmentText
    """That of the response of `POST /v1/user/totp`."""
    code: _Code
    """The six digits that the app shows now."""
    end_others: Annotated[Flag | None, Field(examples=[True])] = None
    """Whether all other sign-ins of the user end. By default only with a first factor."""


class SecondFactorBody(ProofBody):
    description = "Whether a passkey is asked for after the password, with the proof of the user."

    after_password: Annotated[
        Flag,
        Missing(_("Say whether a passkey is asked for after your password.")),
        Field(examples=[True]),
    ]
    """Whether a passkey is asked for after the password, too."""


@response_body("The authenticator app of a user.")
class TotpAnswer(TypedDict):
    created_at: _Moment
    """When it was added."""
    last_used_at: Annotated[_Moment | None, Field(examples=[None])]
    """When its code was last used; null before the first use after it was added."""


@response_body("A passkey of a user.")
class PasskeyAnswer(TypedDict):
    id: Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
    """The id for `PATCH` and `DELETE /v1/user/passkeys/{id}`."""
    name: Annotated[str, Field(examples=["iPhone"])]
    """What the user calls it."""
    created_at: _Moment
    """When it was added."""
    last_used_at: Annotated[_Moment | None, Field(examples=[None])]
    """When it was last used."""
    synced: bool
    """Whether it may be copied to other devices of the user."""


@response_body("The recovery codes of a user, without the codes themselves.")
class CodesLeftAnswer(TypedDict):
    left: Annotated[int, Field(examples=[8])]
    """How many can still be used."""
    created_at: _Moment
    """When they were made."""


_AT = "2026-01-31T09:30:00Z"
_Totp = Annotated[TotpAnswer | None, Field(examples=[{"created_at": _AT, "last_used_at": None}])]
_CodesLeft = Annotated[CodesLeftAnswer | None, Field(examples=[{"left": 8, "created_at": _AT}])]


@response_body("The second factors and passkeys of a user.")
class FactorsAnswer(TypedDict):
    second_factor: bool
    """Whether a second factor is asked for after the password."""
    after_password: bool
    """Whether the user wants a passkey to be asked for after the password."""
    totp: _Totp
    """The authenticator app."""
    passkeys: list[PasskeyAnswer]
    """The oldest first."""
    recovery_codes: _CodesLeft
    """The recovery codes; null if there are none."""
    remembered_browsers: Annotated[int, Field(examples=[1])]
    """How many browsers are not asked for the second factor for a time."""


@response_body("The second factors and passkeys of a user, after one was added.")
class ChangedFactorsAnswer(TypedDict):
    second_factor: bool
    """Whether a second factor is asked for after the password."""
    after_password: bool
    """Whether the user wants a passkey to be asked for after the password."""
    totp: _Totp
    """The authenticator app."""
    passkeys: list[PasskeyAnswer]
    """The oldest first."""
    recovery_codes: Annotated[
        _RecoveryCodes | CodesLeftAnswer | None, Field(examples=[["7Q4M-92RT-XK3D-0HVB-5WZE-P1NC"]])
    ]
    """The recovery codes themselves if they were made now: only this response has them."""
    remembered_browsers: Annotated[int, Field(examples=[1])]
    """How many browsers are not asked for the second factor for a time."""


@response_body("A new authenticator app, which is stored when its first code is confirmed.")
class EnrollmentAnswer(TypedDict):
    secret: Annotated[str, Field(examples=["JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"])]
    """The secret in base32, to type it into an app."""
    otpauth_uri: Annotated[
        str, Field(examples=["otpauth://totp/Shop:ann%40example.com?secret=JBSW…&issuer=Shop"])
    ]
    """The same as an address that an app opens."""
    qr_svg: Annotated[str, Field(examples=["<svg …>"])]
    """The address as a QR code: an `svg` element, dark on white."""
    enrollment: _EnrollmentText
    """For `POST /v1/user/totp/confirm`: it serves once, within 15 minutes, in this sign-in."""


@response_body("New recovery codes: only this response has them.")
class RecoveryCodesAnswer(TypedDict):
    recovery_codes: _RecoveryCodes
    """Each can be used once, in place of another second factor."""


def passkey_as_json(each: OwnPasskey) -> PasskeyAnswer:
    """A passkey, as in the list and after a change."""
    return {
        "id": str(each.id),
        "name": each.name,
        "created_at": rfc3339(each.created_at),
        "last_used_at": rfc3339(each.used_at) if each.used_at else None,
        "synced": each.synced,
    }


def as_json(found: Overview) -> FactorsAnswer:
    """The object of `GET /v1/user/factors`."""
    return {
        "second_factor": found.second_factor,
        "after_password": found.after_password,
        "totp": found.totp
        and {
            "created_at": rfc3339(found.totp.created_at),
            "last_used_at": rfc3339(found.totp.used_at) if found.totp.used_at else None,
        },
        "passkeys": [passkey_as_json(each) for each in found.passkeys],
        "recovery_codes": found.codes
        and {"left": found.codes.left, "created_at": rfc3339(found.codes.created_at)},
        "remembered_browsers": found.remembered_browsers,
    }


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
