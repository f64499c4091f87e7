"""The one place where an error becomes a response, in the body its path speaks."""

import json
import traceback
from typing import Any

import structlog
from pyramid.renderers import render_to_response
from pyramid.response import Response
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from authsite.db.transaction import keep_writes

from .edge import answers_for
from .error_bodies import house_body, oauth_body, style_of
from .errors import ApiError, Forbidden, MalformedRequest, NotFound, TemporarilyUnavailable

log = structlog.get_logger("authsite.errors")

STORAGE_ERRORS = (OperationalError, InterfaceError, InternalError, PoolTimeout)


def speaks(request: Any) -> str:
    """Which body errors at this path have: ``oauth``, ``house`` or ``page``."""
    try:
        path = request.path_info
    except UnicodeDecodeError:
        path = request.environ["PATH_INFO"]
    return style_of(path.removeprefix(request.registry["authsite.prefix"]))


def respond(error: ApiError, request: Any) -> Response:
    """The response for ``error``: JSON under /v1, a page elsewhere."""
    style = request.speaks
    if style == "page":
        response = render_to_response(
            "authsite:templates/http/error.jinja2", {"error": error}, request=request
        )
    else:
        body = (oauth_body if style == "oauth" else house_body)(error, request.id)
        response = Response(json.dumps(body), content_type="application/json", charset="utf-8")
    response.status_int = error.status
    response.headers.update(error.headers)
    return response


def api_error(error: ApiError, request: Any) -> Response:
    """Any error of ours; what it keeps is committed before the rest is rolled back."""
    if error.keeps_writes:
        try:
            keep_writes(request)
        except STORAGE_ERRORS as failure:  # no other view looks after this one
            return storage_failed(failure, request)
    return respond(error, request)


def not_found(_error: Exception, request: Any) -> Response:
    """No route has this path."""
    return respond(NotFound(), request)


def forbidden(_error: Exception, request: Any) -> Response:
    """A view that states neither a guard nor that it is open: refused by default."""
    log.error("unguarded_route", route=getattr(request.matched_route, "name", None))
    return respond(Forbidden(), request)


def undecodable(_error: Exception, request: Any) -> Response:
    """The path is not UTF-8."""
    return respond(MalformedRequest("The address is not valid UTF-8."), request)


def storage_failed(error: Exception, request: Any) -> Response:
    """The database is away, locked or too slow: 503, never 401 or ``invalid_grant`` (D02)."""
    log.error("storage_failed", error=type(error).__name__, cause=_cause(error))
    return respond(TemporarilyUnavailable(), request)


class OurStorage:
    """View predicate: in a host, errors of the host's own database are the host's affair.

    Ours are those of our routes, and of a guard that could not find out who calls.
    """

    def __init__(self, value: bool, info: Any) -> None:
        self.value = value

    def text(self) -> str:
        return "the failed storage is ours"

    phash = text

    def __call__(self, context: Any, request: Any) -> bool:
        return answers_for(request) or getattr(request, "guarding", False)


def bug(error: Exception, request: Any) -> Response:
    """Everything nobody thought of: logged whole, answered with the request id alone."""
    # The text, not exc_info: an unconfigured structlog prints every local variable beside it.
    log.error("internal_error", exception="".join(traceback.format_exception(error)))
    return respond(ApiError(), request)


def _cause(error: Exception) -> str:
    # The driver's words; SQLAlchemy's own text would carry the statement and its parameters.
    return str(error.orig)[:200] if isinstance(error, DBAPIError) else str(error)[:200]


def add_views(config: Any, *, standalone: bool) -> None:
    """Register the views; those for foreign errors only when the application is ours."""
    config.add_exception_view(api_error, context=ApiError)
    config.add_view_predicate("authsite_storage", OurStorage)
    for storage_error in STORAGE_ERRORS:
        config.add_exception_view(storage_failed, context=storage_error, authsite_storage=True)
    if standalone:
        config.add_notfound_view(not_found)
        config.add_forbidden_view(forbidden)
        config.add_exception_view(undecodable, context=UnicodeDecodeError)
        config.add_exception_view(bug, context=Exception)
