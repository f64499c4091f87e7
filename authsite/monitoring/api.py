"""The views for probes and for Prometheus; no API of users, so without an `Operation`."""

import json
from typing import Any

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.request_state import Request

from .access import require_access
from .workers import all_numbers


@view_config(route_name="authsite.healthz", request_method="GET", permission=NO_PERMISSION_REQUIRED)
def healthz(request: Request) -> Response:
    """The process works. Never waits, since the event loop of ``authsite serve`` calls it."""
    return _answer({"status": "ok"})


@view_config(route_name="authsite.readyz", request_method="GET", permission=NO_PERMISSION_REQUIRED)
def readyz(request: Request) -> Response:
    """Whether the database is reachable, and its schema current; else 503 with what is wrong."""
    problems = request.registry["authsite.monitoring"].problems.get()
    if not problems:
        return _answer({"status": "ready", "problems": []})
    response = _answer({"status": "not ready", "problems": problems})
    response.status_int = 503
    response.headers["Retry-After"] = "2"
    return response


@view_config(route_name="authsite.metrics", request_method="GET", permission=NO_PERMISSION_REQUIRED)
def metrics(request: Request) -> Response:
    """The numbers of all processes, for those who may read them."""
    require_access(request)
    from .exposition import CONTENT_TYPE, exposition

    outbox = request.registry["authsite.monitoring"].outbox.get()
    body = exposition(all_numbers(request.authsite.services), outbox)
    response = Response(body, cache_control="no-store")
    response.headers["Content-Type"] = CONTENT_TYPE
    return response


def _answer(values: dict[str, Any]) -> Response:
    return Response(
        json.dumps(values), content_type="application/json", charset="utf-8",
        cache_control="no-store",
    )  # fmt: skip
