"""Parameters that several OAuth endpoints read, with their examples in the API document."""

import json
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from authsite.platform.http.bodies import Body, MaybeEmpty

ACCESS_TOKEN = "at_q83vEjRWeJCrze8SNFZ4kKvN"
AUTHORIZATION_CODE = "ac_N8tGz3NFZ4kKvN7xIq83vEjR"
DEVICE_CODE = "dc_3vEjRN8tGz3NFZ4kKvN7xIq8"
RESOURCE = "https://mcp.example.com/"
REFRESH_TOKEN = "rt_EjRWeJCrze8SNFZ4kKvN7xI"
MFA_TOKEN = "mt_xIq83vEjRWeJCrze8SNFZ4kKvN7N8tGz3NFZ4kKvN7x"
CREDENTIAL = '{"id":"AAEC","rawId":"AAEC","type":"public-key","response":{}}'

Name = Annotated[str, Field(max_length=320)]
Secret = Annotated[str, Field(max_length=4096, json_schema_extra={"format": "password"})]
MAX_TOKEN = 4096  # characters: a JSON Web Token with groups is the longest
TokenText = Annotated[str, Field(max_length=MAX_TOKEN)]
MAX_CREDENTIAL = 16 * 1024  # characters
Credential = Annotated[
    str,
    BeforeValidator(lambda value: as_json_text(value)),
    Field(max_length=MAX_CREDENTIAL, examples=[CREDENTIAL]),
]
"""What a browser returns for a passkey: JSON text, or in a JSON body the object itself."""


def as_json_text(value: object) -> object:
    """The JSON text of an object, and any other value as it is."""
    if not isinstance(value, dict):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class ClientBody(Body):
    """The parameters by which a client authenticates (RFC 6749, section 2.3.1), in a form only."""

    form_only: ClassVar[bool] = True

    client_id: MaybeEmpty | None = None
    """The client's id, unless it comes by HTTP Basic."""
    client_secret: MaybeEmpty | None = None
    """The client's secret, unless it comes by HTTP Basic."""
