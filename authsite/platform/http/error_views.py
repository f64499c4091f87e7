"""The views that turn errors into responses, in the error format of the request's path."""

import json
import traceback

import structlog
from pyramid.config import Configurator
from pyramid.response import Response
from pyramid_retry import mark_error_retryable
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from authsite.platform.db.failures import is_conflict
from authsite.platform.db.transaction import commit_and_begin
from authsite.platform.request_state import Request

from .error_bodies import error_body, error_style
from .errors import (
    ERROR_OF_REQUEST,
    ApiError,
    Forbidden,
    MalformedRequest,
    NotFound,
    TemporarilyUnavailable,
)
from .own_routes import is_own_request
from .rendering import render_page

ERROR = "authsite:templates/http/error.jinja2"
log = structlog.get_logger("authsite.errors")

STORAGE_ERRORS = (OperationalError, InterfaceError, InternalError, PoolTimeout)


def respond(error: ApiError, request: Request) -> Response:
    """The response for ``error`` in the error format of the path: JSON, OAuth or a page."""
    request.environ[ERROR_OF_REQUEST] = error
    error_format = request.authsite.error_format
    if error_format == "html":
        response = Response(render_page(request, ERROR, {"error": error}))
    else:
        style = error_style(error_format, error.status, request.authsite.settings.apiato_errors)
        body = error_body(style, error, request.authsite.request_id)
        response = Response(json.dumps(body), content_type="application/json", charset="utf-8")
    response.status_int = error.status
    response.headers.update(error.headers)
    return response


def api_error(error: ApiError, request: Request) -> Response:
    """Respond with ``error``; if it has ``keeps_writes``, commit the transaction first."""
    request.authsite.record_denial(error)
    if error.keeps_writes:
        try:
            commit_and_begin(request)
        except STORAGE_ERRORS as failure:  # Pyramid calls no exception view for it
            return storage_failed(failure, request)
    return respond(error, request)


def not_found(_error: Exception, request: Request) -> Response:
    """Respond with 404 to a path without a route."""
    return respond(NotFound(), request)


def forbidden(_error: Exception, request: Request) -> Response:
    """Respond with 403 if the view has neither a guard nor a permission, and log its route."""
    log.error("unguarded_route", route=getattr(request.matched_route, "name", None))
    return respond(Forbidden(), request)


def undecodable(_error: Exception, request: Request) -> Response:
    """Respond with 400 to a path that is not UTF-8."""
    return respond(
        MalformedRequest("The path is not valid UTF-8. Percent-encode it as UTF-8."), request
    )


def storage_failed(error: Exception, request: Request) -> Response:
    """Respond with 503 if the database is unavailable, locked or too slow (D02).

    A 401 or ``invalid_grant`` would make clients discard valid tokens. Where pyramid_retry is
    included, it runs a request again whose transaction a concurrent one made fail: pyramid_tm marks
    the errors of statements, and this view those of COMMIT.
    """
    conflict = is_conflict(error)
    if conflict and "tm.active" not in request.environ:
        mark_error_retryable(error)
    report = log.warning if conflict else log.error
    report("storage_failed", error=type(error).__name__, cause=_cause(error))
    return respond(TemporarilyUnavailable(), request)


class OurStorage:
    """View predicate: whether a database error comes from authsite and not from the host.

    It comes from authsite on our own routes, and on the host's routes while a guard runs.
    """

    def __init__(self, value: bool, info: object) -> None:
        self.value = value

    def text(self) -> str:
        return "authsite_storage"

    phash = text

    def __call__(self, context: object, request: Request) -> bool:
        return is_own_request(request) or request.authsite.guarding


def bug(error: Exception, request: Request) -> Response:
    """An unexpected exception: log it, and respond with the request id only."""
    # Formatted here: for exc_info, structlog's default configuration prints all local variables.
    log.error("internal_error", exception="".join(traceback.format_exception(error)))
    return respond(ApiError(), request)


def _cause(error: Exception) -> str:
    # The driver's message; SQLAlchemy's own contains the statement and its parameters.
    return str(error.orig)[:200] if isinstance(error, DBAPIError) else str(error)[:200]


def add_views(config: Configurator, *, standalone: bool) -> None:
    """Register the exception views; those for other errors only in the stand-alone application."""
    config.add_exception_view(api_error, context=ApiError)
    config.add_view_predicate("authsite_storage", OurStorage)
    for storage_error in STORAGE_ERRORS:
        config.add_exception_view(storage_failed, context=storage_error, authsite_storage=True)
    if standalone:
        config.add_notfound_view(not_found)
        config.add_forbidden_view(forbidden)
        config.add_exception_view(undecodable, context=UnicodeDecodeError)
        config.add_exception_view(bug, context=Exception)
