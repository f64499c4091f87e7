"""The page between a form of ours and an application."""

from urllib.parse import urlsplit

from pyramid.response import Response

from authsite.platform.http.rendering import render_page
from authsite.platform.request_state import Request

CONTINUE = "authsite:templates/authorization/continue.jinja2"


def lead_to(request: Request, application: str, location: str) -> Response:
    """A page (200) that leads to ``location``, the answer to the application of this name.

    Chromium and WebKit apply the policy's ``form-action`` to each redirect after a form (CSP
    Level 3), so that a redirect to the application would do nothing. A refresh does not count as
    one, and it may lead to a private-use scheme. Where the browser asks first, there is a button.
    """
    values = {
        "application": application,
        "location": location,
        "host": urlsplit(location).netloc,
    }
    response: Response = request.response
    response.text = render_page(request, CONTINUE, values)
    return response
