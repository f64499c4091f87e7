"""The page of a way to a provider that ends."""

from pyramid.response import Response
from pyramid.view import exception_view_config

from authsite.platform.http.errors import ERROR_OF_REQUEST
from authsite.platform.http.rendering import render_page
from authsite.platform.request_state import Request
from authsite.sign_in.methods.provider import ProviderRefused

REFUSED = "authsite:templates/providers/refused.jinja2"


@exception_view_config(ProviderRefused)
def refused(error: ProviderRefused, request: Request) -> Response:
    """What happened in plain words, what to do next, and the id of the request."""
    request.environ[ERROR_OF_REQUEST] = error
    response = Response(render_page(request, REFUSED, {"error": error}))
    response.status_int = error.status
    return response
