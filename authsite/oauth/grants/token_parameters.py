"""The body of the token endpoint, which is made of the bodies of all grants, and its errors."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema

from authsite.oauth.errors import MissingParameter, UnauthorizedClient, UnsupportedGrantType
from authsite.platform.http.bodies import Body
from authsite.platform.http.errors import ApiError

from .grant import GrantBody
from .table import GRANTS


def _own_fields() -> dict[str, FieldInfo]:
    """The parameters that not all grants have; of two with one name, that of the first grant."""
    found: dict[str, FieldInfo] = {}
    for each in GRANTS.values():
        for name, field in each.body.model_fields.items():
            if name not in GrantBody.model_fields:
                found.setdefault(name, field)
    return found


_FIELDS = _own_fields()
# Pydantic would look for the source of these models, which takes a twentieth of the start. Their
# fields have descriptions already.
_WITHOUT_SOURCE = {"use_attribute_docstrings": False}


def _checking_all(body: type[GrantBody]) -> type[GrantBody]:
    """``body`` that also rejects a malformed parameter of another grant, which it then ignores."""
    others: dict[str, Any] = {
        name: (SkipJsonSchema[str], field)
        for name, field in _FIELDS.items()
        if name not in body.model_fields
    }
    return create_model(body.__name__, __base__=body, __cls_kwargs__=_WITHOUT_SOURCE, **others)


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
TokenParameters = create_model(
    "TokenParameters", __base__=_AnyGrant, __cls_kwargs__=_WITHOUT_SOURCE, **_PARAMETERS
)
"""The body of the token endpoint: that of the grant, or for an unknown grant all parameters."""

ERRORS: tuple[type[ApiError] | ApiError, ...] = (
    *dict.fromkeys(error for each in GRANTS.values() for error in each.errors),
    UnsupportedGrantType(GRANTS),
    UnauthorizedClient,
    *(MissingParameter(each.body.needs) for each in GRANTS.values() if each.body.needs),
)
"""The errors of the token endpoint behind the authentication of the client."""
