"""The grants of the token endpoint (RFC 6749). A new one is a module here and a line in `GRANTS`.

The types of client that have it as a preset are in `oauth.models`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema

from authsite.context import Context
from authsite.oauth.client_auth import AuthenticatedClient
from authsite.oauth.errors import MissingParameter, UnauthorizedClient, UnsupportedGrantType
from authsite.oauth.tokens import TokenPair
from authsite.platform.http.bodies import Body
from authsite.platform.http.errors import ApiError

from .authorization_code import by_authorization_code
from .client_credentials import by_client_credentials
from .grant import Grant, GrantBody
from .mfa import by_mfa
from .passkey import by_passkey
from .password import by_password
from .refresh_token import by_refresh_token

GRANTS: Mapping[str, Grant[Any]] = {
    each.name: each
    for each in (
        by_password,
        by_client_credentials,
        by_refresh_token,
        by_authorization_code,
        by_mfa,
        by_passkey,
    )
}


def _own_fields() -> dict[str, FieldInfo]:
    """The parameters that not all grants have; of two with one name, that of the first grant."""
    found: dict[str, FieldInfo] = {}
    for each in GRANTS.values():
        for name, field in each.body.model_fields.items():
            if name not in GrantBody.model_fields:
                found.setdefault(name, field)
    return found


_FIELDS = _own_fields()


def _checking_all(body: type[GrantBody]) -> type[GrantBody]:
    """``body`` that also rejects a malformed parameter of another grant, which it then ignores."""
    others: dict[str, Any] = {
        name: (SkipJsonSchema[str], field)
        for name, field in _FIELDS.items()
        if name not in body.model_fields
    }
    return create_model(body.__name__, __base__=body, **others)


class _AnyGrant(GrantBody):
    description = "The parameters of the token endpoint; `grant_type` says which are read."
    discriminator: ClassVar[str] = "grant_type"
    one_of: ClassVar[Mapping[str, type[Body]]] = {
        name: _checking_all(each.body) for name, each in GRANTS.items()
    }
    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        name: example for each in GRANTS.values() for name, example in each.body.examples.items()
    }


_PARAMETERS: dict[str, Any] = {name: (field.annotation, field) for name, field in _FIELDS.items()}
TokenParameters = create_model("TokenParameters", __base__=_AnyGrant, **_PARAMETERS)
"""The body of the token endpoint: that of the grant, or for an unknown grant all parameters."""

ERRORS: tuple[type[ApiError] | ApiError, ...] = (
    *dict.fromkeys(error for each in GRANTS.values() for error in each.errors),
    UnsupportedGrantType(GRANTS),
    UnauthorizedClient,
    *(MissingParameter(each.body.needs) for each in GRANTS.values() if each.body.needs),
)
"""The errors of the token endpoint behind the authentication of the client."""


def find(grant_type: str) -> Grant[Any]:
    """The grant of this type; raises `UnsupportedGrantType`."""
    if grant_type not in GRANTS:
        raise UnsupportedGrantType(GRANTS)
    return GRANTS[grant_type]


def check_allowed(client: AuthenticatedClient, grant: Grant[Any]) -> None:
    """Raise `UnauthorizedClient` unless ``client`` may use ``grant``."""
    if not client.may_use(grant.name):
        raise UnauthorizedClient


def execute(
    ctx: Context, grant: Grant[Any], client: AuthenticatedClient, body: GrantBody
) -> TokenPair:
    """The token pair that ``client`` gets by ``grant``.

    Raises `UnauthorizedClient`, `MissingParameter`, and what the grant raises.
    """
    check_allowed(client, grant)
    for name in grant.body.needs:
        if not getattr(body, name):
            raise MissingParameter(grant.body.needs)
    return grant.issue(ctx, client, body)
