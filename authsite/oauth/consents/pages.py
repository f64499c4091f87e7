"""The section of the account pages for connected applications, and its form."""

from typing import Any
from uuid import UUID

from pyramid.response import Response

from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_client_id
from authsite.users.account_pages import account_form, back
from authsite.users.caller import caller_of

from . import service
from .service import UnknownConsent, words_of


def values(request: Request) -> dict[str, Any]:
    """The connected applications; ``scope_words`` returns a scope in words."""
    ctx, user = request.authsite.ctx, caller_of(request).acting_user()
    return {
        "consents": [each for each in service.list_of(ctx, user.id) if not each.set_up],
        "set_up": service.list_set_up(ctx, user.id),
        "scope_words": lambda scope: words_of(ctx.settings, scope),
    }


@account_form("authsite.account.consents.withdraw")
def withdraw(request: Request) -> Response:
    """Remove the access of one application; one that has none any more is removed, too."""
    service.withdraw(request.authsite.ctx, caller_of(request).acting_user().id, _client(request))
    return back(request, "consents")


@account_form("authsite.account.consents.end")
def end_sign_ins(request: Request) -> Response:
    """End the sign-ins at an application that an administrator has set up."""
    user = caller_of(request).acting_user()
    service.end_sign_ins(request.authsite.ctx, user.id, _client(request))
    return back(request, "ended_sign_ins")


def _client(request: Request) -> UUID:
    client_id = as_client_id(request.matchdict["client_id"])
    if client_id is None:
        raise UnknownConsent
    return client_id
