"""The user that a token acts for."""

from pyramid.view import view_config

from authsite.guards.errors import UserRequired
from authsite.http.answers import answers

from .account import UserAnswer, as_json


@view_config(route_name="authsite.user", request_method="GET", renderer="json")
@view_config(route_name="authsite.profile", request_method="GET", renderer="json")
@answers({200: UserAnswer}, errors=(UserRequired,))
def show(request):
    """Show the user that the token acts for."""
    return as_json(request.caller.acting_user())
