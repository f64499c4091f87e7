"""The JSON views of passkeys."""

from typing import Annotated, Any, NotRequired

from pydantic import BeforeValidator, Field, StringConstraints
from pyramid.response import Response
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.account.api import ProofBody
from authsite.account.factors.api import PasskeyAnswer, passkey_as_json
from authsite.guards.errors import EmailNotConfirmed
from authsite.oauth.errors import as_json_text
from authsite.platform.http.api_metadata import Operation, Parameters, response_body
from authsite.platform.http.bodies import Body, Flag, Missing
from authsite.platform.i18n import _
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.sign_in.errors import PROOF_ERRORS
from authsite.sign_in.factors.errors import LastFactor, LastWayIn, NotOffered, UnknownFactor
from authsite.sign_in.factors.service import OwnPasskey
from authsite.sign_in.methods.passkeys import changes
from authsite.sign_in.methods.passkeys.registration import InvalidCredential, TooManyPasskeys
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.reauthentication import ProofFields
from authsite.users.caller import caller_of
from authsite.users.errors import UserRequired

from . import service

# The bodies of requests and responses about passkeys.


Credential = Annotated[
    str,
    BeforeValidator(as_json_text),
    StringConstraints(min_length=1, max_length=64 * 1024),
    Field(examples=['{"id":"…","rawId":"…","type":"public-key","response":{…}}']),
]
"""What the browser made: the object of `PublicKeyCredential.toJSON`, or its JSON text."""

_Name = Annotated[str, StringConstraints(max_length=64), Field(examples=["My phone"])]
_Id = Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]


class PasskeyBody(Body):
    description = "A new passkey."

    credential: Credential
    """What the browser made with the options: `toJSON()` of it, as an object or as JSON text. At
    most 16 KiB."""
    name: _Name | None = None
    """What the user calls it. By default who keeps it, or else the browser and system."""
    end_others: Annotated[Flag | None, Field(examples=[False])] = None
    """Whether all other sign-ins of the user end. By default only with a first factor."""


class NameBody(Body):
    description = "Another name of a passkey."

    name: Annotated[
        str,
        StringConstraints(min_length=1, max_length=64, strip_whitespace=True),
        Missing(_("Enter a name.")),
        Field(examples=["My phone"]),
    ]
    """What the user calls it."""


class PasskeyPath(Parameters):
    """Path of one passkey."""

    id: _Id
    """Its id in the list."""


@response_body("A new passkey.")
class NewPasskeyAnswer(TypedDict):
    id: Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
    """The id for `PATCH` and `DELETE /v1/user/passkeys/{id}`."""
    name: Annotated[str, Field(examples=["iPhone"])]
    """What the user calls it."""
    created_at: Annotated[str, Field(examples=["2026-01-31T09:30:00Z"])]
    """When it was added."""
    last_used_at: Annotated[str | None, Field(examples=[None])]
    """When it was last used."""
    synced: bool
    """Whether it may be copied to other devices of the user."""
    recovery_codes: NotRequired[
        Annotated[list[str], Field(examples=[["7Q4M-92RT-XK3D-0HVB-5WZE-P1NC"]])]
    ]
    """Shown once, if they were made with this passkey."""


@response_body("What `PublicKeyCredential.parseCreationOptionsFromJSON` reads.")
class CreationOptions(TypedDict):
    rp: Annotated[dict[str, Any], Field(examples=[{"id": "example.com", "name": "Example"}])]
    """The relying party: its `id`, a domain, and `name`."""
    user: Annotated[
        dict[str, Any],
        Field(
            examples=[
                {
                    "id": "RBwpDvFkvuHTbCbvVLVePbLnvZYKZFpk0kNcSlNsSgQ",
                    "name": "ann@example.com",
                    "displayName": "Ann Lee",
                }
            ]
        ),
    ]
    """The `id`, `name` and `displayName` that the passkey is kept under."""
    challenge: Annotated[str, Field(examples=["AAAAAGn0r4hcVY2uB1mSx0qvQ9mXGd0h"])]
    """Valid for ten minutes, once, in this sign-in alone."""
    pubKeyCredParams: Annotated[
        list[dict[str, Any]], Field(examples=[[{"type": "public-key", "alg": -7}]])
    ]
    """The algorithms: ES256, EdDSA, RS256."""
    timeout: Annotated[int, Field(examples=[600000])]
    """Milliseconds."""
    excludeCredentials: Annotated[
        list[dict[str, Any]], Field(examples=[[{"type": "public-key", "id": "sJ3tYw"}]])
    ]
    """The passkeys that the user has."""
    authenticatorSelection: Annotated[
        dict[str, Any],
        Field(examples=[{"residentKey": "preferred", "userVerification": "preferred"}]),
    ]
    """What kind of passkey is asked for."""
    attestation: Annotated[str, Field(examples=["none"])]
    """`none`."""


def as_json(row: Passkey) -> PasskeyAnswer:
    """A passkey as the API shows it."""
    own = OwnPasskey(row.id, row.name, row.created_at, row.used_at, row.backup_eligible)
    return passkey_as_json(own)


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
