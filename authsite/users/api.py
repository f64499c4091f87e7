"""The user endpoint."""

from pyramid.view import view_config

from .account import as_json


@view_config(route_name="authsite.user", request_method="GET", renderer="json")
@view_config(route_name="authsite.profile", request_method="GET", renderer="json")
def show(request):
    """The user that the token acts for."""
    return as_json(request.caller.acting_user())
