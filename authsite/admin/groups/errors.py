"""Errors of groups that only a running application knows of."""

from collections.abc import Sequence

from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import _


class GroupNamed(ApiError):
    """Routes of the application are for the members of this group alone."""

    summary = "A route of the application is for the members of this group alone."
    status = 409
    code = "conflict"

    def __init__(self, name: str = "ops", routes: Sequence[str] = ("reports",)) -> None:
        super().__init__(
            _(
                "Only members of the group ${name} may use these routes of the application:"
                " ${routes}. Change the application first.",
                mapping={"name": name, "routes": ", ".join(routes)},
            )
        )
