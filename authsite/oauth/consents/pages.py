"""The section of the account pages for connected applications, and its form."""

from typing import Any

from pyramid.response import Response

from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_client_id
from authsite.users.account_pages import account_form, back
from authsite.users.caller import caller_of

from . import service
from .errors import UnknownConsent
from .words import words_of


def values(request: Request) -> dict[str, Any]:
    """The connected applications; ``scope_words`` returns a scope in words."""
    ctx = request.authsite.ctx
    found = service.list_of(ctx, caller_of(request).acting_user().id)
    return {"consents": found, "scope_words": lambda scope: words_of(ctx.settings, scope)}


@account_form("authsite.account.consents.withdraw")
def withdraw(request: Request) -> Response:
    """Remove the access of one application; one that has none any more is removed, too."""
    client_id = as_client_id(request.matchdict["client_id"])
    if client_id is None:
        raise UnknownConsent
    service.withdraw(request.authsite.ctx, caller_of(request).acting_user().id, client_id)
    return back(request, "consents")
