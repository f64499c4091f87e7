"""The address of the page on which a signed-in user proves again, or more, who they are."""

from authsite.platform.http.address import route_path
from authsite.platform.request_state import Request

from .errors import InsufficientUserAuthentication

ROUTE = "authsite.login.verify"
MAIL_ROUTE = f"{ROUTE}.mail"


def verify_url(
    request: Request,
    next_url: str | None,
    error: InsufficientUserAuthentication,
    *,
    unsaved: bool = False,
) -> str:
    """The path of the page, which leads to ``next_url`` and asks for what ``error`` says.

    ``unsaved`` adds the notice that a form was not saved.
    """
    query = {"next": next_url} if next_url else {}
    if error.acr_values:
        query["acr_values"] = error.acr_values
    if error.max_age is not None:
        query["max_age"] = str(int(error.max_age.total_seconds()))
    if unsaved:
        query["unsaved"] = "1"
    return route_path(request, ROUTE, _query=query)
