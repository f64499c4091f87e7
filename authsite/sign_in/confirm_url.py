"""The path of the page that mails a link to confirm the e-mail address of a signed-in user."""

from authsite.platform.http.address import route_path
from authsite.platform.request_state import Request


def confirm_url(request: Request, next_url: str | None) -> str:
    """The path of the page that mails a link to confirm the address, and leads to ``next_url``."""
    query = {"next": next_url} if next_url else {}
    return route_path(request, "authsite.link.page", _query=query)
