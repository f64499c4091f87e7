"""GET /v1/admin/settings"""

from typing import Annotated, Any

from pydantic import Field
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.platform.http.api_metadata import Operation, response_body
from authsite.platform.request_state import Request

from .service import list_settings


class SettingAnswer(TypedDict):
    """A setting."""

    key: Annotated[str, Field(examples=["base-url"])]
    """Its name in the ini."""
    value: Annotated[str | None, Field(examples=["https://auth.example.org"])]
    """The value in effect; of a secret `set`. Null without a value."""
    default: str | None
    """The value without a setting; null if there is none."""
    source: Annotated[str, Field(examples=["/srv/authsite/production.ini, line 7"])]
    """A line of the ini, a variable, a file, or `default`."""
    secret: bool
    """Whether the value is never shown."""
    fingerprint: Annotated[str | None, Field(examples=["5f1d0f0a9d11"])]
    """Of a secret: the same value has the same one in all processes with the same `secret`."""


@response_body("The settings of the process that answers.")
class SettingsAnswer(TypedDict):
    """All settings."""

    settings: list[SettingAnswer]
    """By section, as in the documentation."""


@view_config(
    route_name="authsite.admin.api.settings",
    request_method="GET",
    renderer="json",
    admin="settings:read",
)
@Operation(
    "List the settings, and where each comes from",
    {200: SettingsAnswer},
    description="Read only. Secrets are not shown.",
)
def settings(request: Request) -> dict[str, Any]:
    found = list_settings(request.authsite.ctx, request.registry.settings)
    return {
        "settings": [
            {
                "key": each.key,
                "value": each.value,
                "default": each.default,
                "source": each.source,
                "secret": each.secret,
                "fingerprint": each.fingerprint,
            }
            for each in found
        ]
    }
