"""The section "Sign-in methods" of the account pages, and its form."""

from typing import Any

from pyramid.response import Response

from authsite.platform.http.rendering import home_path, see_other
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.sign_in.reauthentication import ProofFields
from authsite.sign_in.sessions import cookies
from authsite.users import identities
from authsite.users.account_pages import account_form, back, show
from authsite.users.caller import caller_of

from . import service
from .api import UnlinkBody


def values(request: Request) -> dict[str, Any]:
    """The identities of the user, and the providers that are not connected."""
    ctx, user_id = request.authsite.ctx, caller_of(request).acting_user().id
    found = service.list_removable(ctx, user_id)
    rows = [
        {
            "id": item.id,
            "label": identities.label(ctx.settings, item),
            "email": item.email,
            "usable": bool(identities.usable(ctx.settings, [item])),
            "created": item.created_at,
            "last_used": item.used_at,
            "removable": removable,
        }
        for item, removable in found
    ]
    linked = {item.provider for item, _removable in found}
    others = [each for each in ctx.settings.providers if each.name not in linked]
    return {"identities": rows, "other_providers": others}


def show_with_row(request: Request) -> dict[str, Any]:
    """The page after a mistake in the form of a row, which is named in ``which``."""
    shown = show(request)
    wanted = as_id(request.matchdict["id"])
    if any(row["id"] == wanted and row["removable"] for row in shown["identities"]):
        shown["which"] = f"identities-{wanted}"
    return shown


@account_form("authsite.account.identities.unlink", UnlinkBody, show=show_with_row)
def unlink(request: Request) -> Response:
    """Disconnect a provider; the browser is signed out if its session began with it."""
    user, given = caller_of(request).signed_in_user(), request.authsite.validated
    wanted = as_id(request.matchdict["id"])
    if service.unlink(request.authsite.ctx, user, wanted, ProofFields.of(given)):
        cookies.clear_session(request)
        return see_other(request, f"{home_path(request)}?done=signed-out")
    return back(request, "disconnected")
