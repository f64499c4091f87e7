"""The views for probes and for Prometheus; no API of users, so without an `Operation`.

The metrics can be read from this machine, and with the token of setting `metrics-token`.
"""

import hmac
import json
import re
from typing import Any

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.http.errors import ApiError, NotFound
from authsite.platform.http.local import is_local
from authsite.platform.request_state import Request

from .database import Health, Monitoring
from .workers import all_numbers

_BEARER = re.compile(r"bearer ++(.{1,512})", re.IGNORECASE)


class MetricsTokenRequired(ApiError):
    """The request has no bearer token, or not that of setting `metrics-token`."""

    status = 401
    code = "unauthenticated"
    message = "Send the value of setting metrics-token as a bearer token."
    listed = False

    def __init__(self) -> None:
        super().__init__(headers={"WWW-Authenticate": 'Bearer realm="authsite metrics"'})


@view_config(route_name="authsite.healthz", request_method="GET", permission=NO_PERMISSION_REQUIRED)
def healthz(request: Request) -> Response:
    """The process works. Never waits, since the event loop of ``authsite serve`` calls it."""
    return _answer({"status": "ok"})


@view_config(route_name="authsite.readyz", request_method="GET", permission=NO_PERMISSION_REQUIRED)
def readyz(request: Request) -> Response:
    """Whether this process can work with the database; else 503 with what is wrong.

    A clock that is off is named, too; the response stays 200.
    """
    health: Health = request.registry["authsite.monitoring"].health.get()
    problems = [*health.obstacles, *health.warnings]
    if not health.obstacles:
        return _answer({"status": "ready", "problems": problems})
    response = _answer({"status": "not ready", "problems": problems})
    response.status_int = 503
    response.headers["Retry-After"] = "2"
    return response


@view_config(route_name="authsite.metrics", request_method="GET", permission=NO_PERMISSION_REQUIRED)
def metrics(request: Request) -> Response:
    """The numbers of all processes, for those who may read them."""
    _require_access(request)
    from .exposition import CONTENT_TYPE, exposition

    monitoring: Monitoring = request.registry["authsite.monitoring"]
    offset = monitoring.health.get().clock_offset
    body = exposition(all_numbers(request.authsite.services), monitoring.outbox.get(), offset)
    response = Response(body, cache_control="no-store")
    response.headers["Content-Type"] = CONTENT_TYPE
    return response


def _answer(values: dict[str, Any]) -> Response:
    return Response(
        json.dumps(values), content_type="application/json", charset="utf-8",
        cache_control="no-store",
    )  # fmt: skip


def _require_access(request: Request) -> None:
    """Return if the caller may read the metrics.

    Raises `MetricsTokenRequired`; without a `metrics-token` `NotFound`, as if there were nothing.
    """
    if is_local(request):
        return
    token = request.authsite.settings.metrics_token
    if token is None:
        raise NotFound
    sent = _BEARER.fullmatch(request.environ.get("HTTP_AUTHORIZATION", ""))
    if sent is None or not hmac.compare_digest(sent[1].encode("latin-1"), token.reveal().encode()):
        raise MetricsTokenRequired
