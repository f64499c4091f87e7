"""The body of an action: the reason."""

from typing import Annotated

from pydantic import Field

from authsite.platform.http.bodies import JsonBody, MaybeEmpty

EXAMPLE = "asked for by phone, called back"


class ReasonBody(JsonBody):
    description = "The reason. Some actions need one."

    reason: Annotated[MaybeEmpty | None, Field(examples=[EXAMPLE])] = None
    """Why, for the audit trail: one line, at most 200 characters."""
