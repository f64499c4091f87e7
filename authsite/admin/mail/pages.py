"""/admin/mail"""

from typing import Any
from uuid import UUID

from pyramid.response import Response
from pyramid.view import view_config

from authsite.admin.confirming import Confirmation, confirming, done
from authsite.admin.errors import UnknownObject
from authsite.admin.guard import administrator_of
from authsite.admin.lists import DEFAULT_LIMIT
from authsite.platform.http.address import route_path
from authsite.platform.i18n import _
from authsite.platform.mail.outbox import OutboxMessage, facts, shortened
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id

from . import service

LIST = "authsite:templates/admin/mail.jinja2"
_ROUTE = "authsite.admin.mail"


@view_config(route_name=_ROUTE, request_method="GET", renderer=LIST, admin="mail:read")
def list_mails(request: Request) -> dict[str, Any]:
    """The mails of a state, or all, the newest first."""
    ctx, by = request.authsite.ctx, administrator_of(request)
    state = next((each for each in service.STATES if each == request.GET.get("state")), None)
    page = service.list_mails(ctx, by, state, DEFAULT_LIMIT, request.GET.get("cursor"))
    rows = [
        {**facts(each), "cancelable": each.kind in service.CANCELABLE, "at": each.created_at}
        for each in page.rows
    ]
    return {"mails": rows, "next": page.next, "state": state or "", "may": by.may("mail:write")}


def ask_retry(request: Request) -> Confirmation:
    """What another try does."""
    return Confirmation(
        title=_about(_("Try the mail “${kind}” to ${address} again?"), _mail(request)),
        effects=[_("For another 24 hours it is tried again and again.")],
        notices=[_("The recipient gets the e-mail, if its link has not expired.")],
        button=_("Try again"),
        back=_back(request),
    )


@confirming(f"{_ROUTE}.retry", ask=ask_retry, admin="mail:write")
def retry(request: Request) -> Response:
    """Have a dead mail tried again."""
    ctx, by, given = request.authsite.ctx, administrator_of(request), request.authsite.validated
    service.retry(ctx, by, _id(request), given.reason)  # it counts before anything is read
    return done(request, _back(request), "retried")


def ask_cancel(request: Request) -> Confirmation:
    """What canceling does."""
    return Confirmation(
        title=_about(_("Cancel the mail “${kind}” to ${address}?"), _mail(request)),
        effects=[_("It is never sent. Its link or code does not reach the recipient.")],
        button=_("Cancel the mail"),
        back=_back(request),
        dangerous=True,
    )


@confirming(f"{_ROUTE}.cancel", ask=ask_cancel, admin="mail:write")
def cancel(request: Request) -> Response:
    """Cancel a mail."""
    ctx, by, given = request.authsite.ctx, administrator_of(request), request.authsite.validated
    service.cancel(ctx, by, _id(request), given.reason)
    return done(request, _back(request), "canceled")


def _mail(request: Request) -> OutboxMessage:
    return service.read(request.authsite.ctx, _id(request))


def _id(request: Request) -> UUID:
    id_ = as_id(request.matchdict["mail"])
    if id_ is None:
        raise UnknownObject
    return id_


def _about(text: Any, mail: OutboxMessage) -> str:
    filled: str = text % {"kind": mail.kind, "address": shortened(mail.address)}
    return filled


def _back(request: Request) -> str:
    return route_path(request, _ROUTE)
